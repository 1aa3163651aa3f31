# shellcheck shell=sh
# Roots of other distributions, and programs in them; read by scripts that have $folder, where the roots lie. What is
# mounted in them is so only for the programs in there, which end with the script. Needs root, debootstrap, the network.

# inside ROOT COMMAND...: in a process tree of its own, which takes its mounts along when it ends
inside() {
	root=$1
	shift
	# shellcheck disable=SC2016 # for the shell in there
	unshare --mount --propagation private --pid --fork --kill-child --mount-proc="$root/proc" sh -c '
		root=$1 && shift && mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" && exec chroot "$root" env -i \
			HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' sh "$root" "$@"
}

# bootstrap DISTRIBUTION SUITE [OPTION...]: from the mirror that debootstrap has for it. The suites of a
# family share a script, so one that is younger than this debootstrap has it, too.
bootstrap() {
	# shellcheck disable=SC2154 # of those who read this file
	root=$folder/$1 suite=$2 scripts=$folder/debootstrap
	shift 2
	rm -rf "$root" "$scripts"
	cp -r /usr/share/debootstrap "$scripts"
	[ -e "$scripts/scripts/trixie" ] || ln -s sid "$scripts/scripts/trixie"
	[ -e "$scripts/scripts/noble" ] || ln -s gutsy "$scripts/scripts/noble"
	DEBOOTSTRAP_DIR=$scripts debootstrap --variant=minbase "$@" "$suite" "$root" || return 1
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # nothing is started in there
	chmod 755 "$root/usr/sbin/policy-rc.d"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	touch "$root/made"
}
