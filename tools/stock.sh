#!/usr/bin/env bash
# README's commands on a stock system: one with Python, git and make alone, made by debootstrap. Needs root.
#   tools/stock.sh bookworm|trixie|forky|noble FOLDER [COMMAND]
# FOLDER is made once and keeps the system. The commit that is checked out is cloned into it anew. COMMAND (say `make test`)
# runs in that clone; without it README's two commands and its Python example do.
set -euo pipefail
system=${1:?a system: bookworm, trixie, forky (Debian) or noble (Ubuntu)} folder=${2:?a folder that may be filled} command=${3-}
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case $system in
  noble) mirror=http://archive.ubuntu.com/ubuntu script=gutsy components=main,universe ;;
  forky) mirror=http://deb.debian.org/debian script=sid components=main ;;
  *) mirror=http://deb.debian.org/debian script=$system components=main ;;
esac
if [ ! -e "$folder/etc/stock" ]; then
  debootstrap --no-check-gpg --variant=minbase --components=$components --include=python3,git,make,ca-certificates \
    "$system" "$folder" "$mirror" "$script" >"$folder.log"
  cp /etc/resolv.conf /etc/hosts "$folder/etc/"
  cp /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"
  touch "$folder/etc/stock"
fi
rm -rf "$folder/root/btflow" "$folder/root/.cache"
git clone -q "$sources" "$folder/root/btflow"
cat >"$folder/root/readme.sh" <<'READ'
make explore >~/explore.log 2>&1 & page=$!  # a group of its own, by `set -m`
( tail -n +1 -f ~/explore.log | grep --line-buffered -E "^btflow|http|^Ctrl" ) & told=$!
while ! grep -q "all kernels are compiled" ~/explore.log && kill -0 $page 2>/dev/null && [ $SECONDS -lt 1200 ]; do sleep 1; done
kill -INT -- -$page
wait $page; echo "the page ended with $? after $SECONDS s"
kill -- -$told
. .venv/bin/activate
python - >/dev/null <<'PY' && echo "README's example ran"
import re, pathlib
(example,) = re.findall(r"```python\n(.*?)```", pathlib.Path("README.md").read_text(), re.S)
exec("import plotly.io; plotly.io.renderers.default = 'json'\n" + example)
PY
btflow run rao2010 --set upload_limit="50 kB/s" --set rtt="400 ms" --replicas 5 --seed 1 | head -3
READ
printf '%s\n' "set -m; cd ~/btflow; python3 --version; make --version | head -1" "${command:-. ~/readme.sh}" >"$folder/root/what.sh"
unshare --mount --pid --fork --kill-child bash -c '
  mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; mount -t tmpfs tmpfs "$0/tmp"
  exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb chroot "$0" bash /root/what.sh' "$folder"
