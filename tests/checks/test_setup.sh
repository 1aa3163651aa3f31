#!/bin/sh
# run/setup on machines of our own making: test_setup.sh SOURCE
# apt-get, dpkg-query, id, sudo, sleep, python3 and nvcc are scripts here; what apt-get and pip are asked
# is in $work/asked.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bin=$work/bin
mkdir "$bin" "$work/tree"
cp -r "$1/run" "$work/tree" # it writes into the build/ of its own tree
setup=$work/tree/run/setup
for tool in sh sed grep date env cat rm cut mv dirname nproc mkdir timeout chmod; do ln -s "$(command -v $tool)" "$bin/$tool"; done
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
# an environment whose pip has the packages of $work/index
fake python3 <<E
case "\$1 \$2" in
'-m venv') mkdir -p "\$3/bin"; cat "$work/pip" >"\$3/bin/pip"; chmod 755 "\$3/bin/pip" ;;
'-c import ensurepip') [ ! -f "$work/no_venv" ] ;;
esac
E
cat >"$work/pip" <<E
#!/bin/sh
shift 8 # --disable-pip-version-check install -q --no-compile --retries 2 --timeout 30
echo "pip \$*" >>"$work/asked"
grep -qx -e "\$1" "$work/index" || { echo "no \$1 is found" >&2; exit 1; }
E
# a toolkit with the headers of $work/headers
fake nvcc <<E
case "\$*" in
--version) cat "$work/nvcc_says" ;;
*) [ -f "$work/headers" ] ;;
esac
E

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

libraries='pip --no-deps nvidia-cublas==13.0.2.14 nvidia-cudnn-cu13==9.28.1.4 nvidia-nvtx-cu12==12.4.127'
torch='pip torch==2.13.0+cpu numpy nvtx'
made() { # made [NAME...]: these environments, and no other
	for name in nvidia torch; do
		case " $* " in *" $name "*) expected=yes ;; *) expected=no ;; esac
		[ -e "$work/tree/build/$name" ] && is=yes || is=no
		[ $is = $expected ] || bad "build/$name is there: $is"
	done
}
machine 'CI, with a toolkit that lacks cuBLAS' 0 libcriterion-dev clang-tidy
echo 'Cuda compilation tools, release 13.0, V13.0.88' >"$work/nvcc_says"
printf '%s\n' --no-deps torch==2.13.0+cpu >"$work/index"
ends 0 ci
asks "$apt update" "$install libcriterion-dev" "$libraries" "$torch"
made nvidia torch

machine 'CI, again' 0 none
ends 0 ci
does_nothing

machine 'CI, no registry' 0 none
rm -rf "$work/tree/build"
: >"$work/index"
ends 0 ci
says 'nvidia: left out: pip has no --no-deps nvidia-cublas'
says 'torch: left out: pip has no torch==2.13.0+cpu'
made

machine 'CI, a whole toolkit' 0 none
: >"$work/headers"
printf '%s\n' torch==2.13.0+cpu >"$work/index"
ends 0 ci
asks "$torch"
made torch

machine 'CI, a toolkit of another CUDA' 0 none
rm "$work/headers"
echo 'Cuda compilation tools, release 12.9, V12.9.1' >"$work/nvcc_says"
ends 0 ci
says 'the CUDA toolkit lacks them, and is not of CUDA 13'
made torch

machine 'CI, no toolkit and a Python that makes no environments' 0 python3-venv
rm "$bin/nvcc"
: >"$work/no_venv"
ends 0 ci
asks "$apt update" "$install python3-venv"

machine 'a wrong word' 0 cmake
ends 2 tests

machine 'no sudo' 1000 gcc cmake
rm "$bin/sudo"
ends 5
says 'apt-get update && apt-get install -y --no-install-recommends gcc cmake'

machine 'no sudo, and no browser' 1000 chromium
ends 0 test
! grep -qx ID=debian /etc/os-release || says 'tests that open pages are skipped'

machine 'no apt-get' 0 gcc
rm "$bin/apt-get"
ends 5
says 'install the equivalents of: gcc'
exit $failed
