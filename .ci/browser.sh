#!/bin/sh
# The tests drive Debian's Chromium, and start nginx before two servers. Install them where we may;
# say how elsewhere. Without nginx one test is left out; without a browser the suite cannot run.
quiet_install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null; }
missing=""
command -v chromium >/dev/null || [ -n "$KVSCROLL_CHROMIUM" ] || missing="chromium fonts-noto-color-emoji fonts-noto-cjk"
command -v nginx >/dev/null || missing="$missing nginx-light"
[ -z "$missing" ] && exit 0

if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  echo "installing for the tests:$missing"
  apt-get update -qq
  # nginx's package starts a server of its own; the tests start theirs.
  printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d
  quiet_install $missing
  status=$?
  rm -f /usr/sbin/policy-rc.d
  exit $status
fi
command -v chromium >/dev/null || [ -n "$KVSCROLL_CHROMIUM" ] && exit 0
echo "The browser tests need Chromium. On Debian or Ubuntu: sudo apt-get install chromium" >&2
echo "Elsewhere install Chromium or Chrome and set KVSCROLL_CHROMIUM to its executable." >&2
exit 1
