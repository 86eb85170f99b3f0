#!/bin/sh
# The browser tests drive Debian's Chromium. Install it where we may; say how elsewhere.
if command -v chromium >/dev/null || [ -n "$KVSCROLL_CHROMIUM" ]; then
  exit 0
fi
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  echo "installing chromium (Debian package) for the browser tests"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-noto-color-emoji fonts-noto-cjk >/dev/null
  exit $?
fi
echo "The browser tests need Chromium. On Debian or Ubuntu: sudo apt-get install chromium" >&2
echo "Elsewhere install Chromium or Chrome and set KVSCROLL_CHROMIUM to its executable." >&2
exit 1
