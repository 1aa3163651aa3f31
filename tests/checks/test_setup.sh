#!/bin/sh
# run/setup on machines of our own making: test_setup.sh SOURCE
# apt-get, dpkg-query, id, sudo and sleep are scripts here; what apt-get is asked is in $work/asked.
set -u
setup=$1/run/setup
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bin=$work/bin
mkdir "$bin"
for tool in sh sed grep date env cat rm cut mv; do ln -s "$(command -v $tool)" "$bin/$tool"; done
fake() { # fake NAME: its script from stdin
	{ echo '#!/bin/sh' && cat; } >"$bin/$1"
	chmod 755 "$bin/$1"
}
fake dpkg-query <<E
for package; do :; done
! grep -qx "\$package" "$work/lacks" || exit 1
echo 'install ok installed'
E
fake apt-get <<E
echo "\${DEBIAN_FRONTEND:-no variable} \$*" >>"$work/asked"
case " \$* " in
*' update '*) [ ! -f "$work/update_says" ] || { cat "$work/update_says" >&2; rm "$work/update_says"; exit 100; } ;;
*' install '*) [ ! -f "$work/install_fails" ] || exit 100 ;;
esac
E
fake id <<E
cat "$work/id"
E
fake sudo <<E
echo sudo >>"$work/asked"
exec env -i PATH="$bin" "\$@"
E
fake sleep </dev/null

failed=0
bad() {
	echo "$machine: $*" >&2
	sed 's/^/    /' "$work/asked" "$work/said" >&2
	failed=1
}
# machine NAME USER PACKAGE...: a machine that lacks these packages
machine() {
	machine=$1
	echo "$2" >"$work/id"
	shift 2
	printf '%s\n' "$@" >"$work/lacks"
	rm -f "$work/update_says" "$work/install_fails"
	: >"$work/asked"
}
# ends STATUS [OPTION]: run/setup with it ends so
ends() {
	expected=$1
	shift
	status=0
	PATH=$bin sh "$setup" "$@" >"$work/said" 2>&1 || status=$?
	[ $status = "$expected" ] || bad "exit status $status, not $expected"
}
asks() { printf '%s\n' "$@" | cmp -s - "$work/asked" || bad "it is to ask: $*"; }
does_nothing() { [ -z "$(cat "$work/asked" "$work/said")" ] || bad "nothing is to be done or said"; }
says() { grep -qF -- "$1" "$work/said" || bad "it is to say: $1"; }

apt='noninteractive -qq -o DPkg::Lock::Timeout=300'
install="$apt install -y --no-install-recommends"
machine 'all are there' 0 none
ends 0 check
does_nothing

machine 'root' 0 libminizip-dev cmake
ends 0
asks "$apt update" "$install cmake libminizip-dev"

machine 'sudo, which keeps no variables' 1000 cmake
ends 0
asks sudo "$apt update" sudo "$install cmake"

machine 'a lock on the lists' 0 cmake
echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)' >"$work/update_says"
ends 0
asks "$apt update" "$apt update" "$install cmake"

machine 'a source that does not answer' 0 cmake
echo 'E: The repository has no Release file' >"$work/update_says"
ends 0
asks "$apt update" "$install cmake"
says 'no Release file'

machine 'packages that cannot be had' 0 cmake
: >"$work/install_fails"
ends 100

machine 'tests' 0 libcriterion-dev clang-tidy
ends 0 test
asks "$apt update" "$install libcriterion-dev"

machine 'checks' 0 libcriterion-dev clang-tidy
ends 0 check
asks "$apt update" "$install libcriterion-dev clang-tidy"

fake clang <<E
echo 15.0.6
E
machine 'clang, without its runtime' 0 libclang-rt-15-dev
ends 0 check
asks "$apt update" "$install libclang-rt-15-dev"

machine 'neither clang nor its runtime' 0 clang libclang-rt-15-dev
mv "$bin/clang" "$work/clang"
fake apt-get <<E
echo "\${DEBIAN_FRONTEND:-no variable} \$*" >>"$work/asked"
case " \$* " in *' clang '*) mv "$work/clang" "$bin/clang" ;; esac
E
ends 0 check
asks "$apt update" "$install clang" "$install libclang-rt-15-dev"

machine 'a desktop LibreOffice' 0 libreoffice-calc-nogui
fake soffice </dev/null
ends 0 test
does_nothing

machine 'a wrong word' 0 cmake
ends 2 tests

machine 'no sudo' 1000 gcc cmake
rm "$bin/sudo"
ends 5
says 'apt-get update && apt-get install -y --no-install-recommends gcc cmake'

machine 'no apt-get' 0 gcc
rm "$bin/apt-get"
ends 5
says 'install the equivalents of: gcc'
exit $failed
