#!/bin/sh
# Takes the AppArmor profile away when the package goes, and not when it is upgraded.
set -e
[ -z "${DPKG_ROOT-}" ] || exit 0 # the system of that root is not the one that runs
case "$1" in
remove | purge | 0)
	if [ -e /etc/apparmor.d/toolhost ]; then
		apparmor_parser -R /etc/apparmor.d/toolhost 2>/dev/null || true
		rm -f /etc/apparmor.d/toolhost
	fi
	;;
esac
