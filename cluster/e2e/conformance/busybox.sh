#!/bin/sh
# Builds busybox as its own defaults have it, static, from Debian's source package:
# busybox.sh OUTPUT. The one that Debian builds drops variables of the environment.
set -eu

output=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p lists/partial
. /etc/os-release
echo "deb-src http://deb.debian.org/debian $VERSION_CODENAME main" >sources.list
alias apt='apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/lists" -o APT::Sandbox::User=root'
apt update
apt source --download-only busybox
tar -xf busybox_*.orig.tar.* --strip-components=1
make -s defconfig >/dev/null
# tc needs headers of older kernels.
sed -i -e 's/^# CONFIG_STATIC is not set/CONFIG_STATIC=y/' -e 's/^CONFIG_TC=y/# CONFIG_TC is not set/' .config
make -s -j2 busybox >build.log 2>&1 || {
	tail -20 build.log >&2
	exit 1
}
cp busybox "$output"
