#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of tools/packages.txt and makes the virtual environment of
# tools/requirements.txt, and fetches the sources of isl. Does nothing, offline and at once, when
# all is already there. `setup.sh fuzz` installs tools/packages_fuzz.txt too.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${VENV:-.venv}
python=${PYTHON:-/usr/bin/python3}

install_packages() {
  local wanted missing=() package
  mapfile -t wanted < <(grep -hv '^#' "$@")
  for package in "${wanted[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  echo "setup: installing ${missing[*]}"
  local root=()
  [ "$(id -u)" = 0 ] || root=(sudo)
  "${root[@]}" apt-get update -q
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qy --no-install-recommends "${missing[@]}"
}

make_environment() {
  # The stamp names what the environment was made from and where: a moved one is made anew, one of
  # other packages takes those that are new.
  local place stamp made
  place="$("$python" --version) $PWD"
  stamp="$(sha256sum tools/requirements.txt) $place"
  made="$(cat "$venv/stamp" 2>/dev/null || true)"
  [ "$made" != "$stamp" ] || return 0

  if [[ $made != *" $place" ]]; then
    echo "setup: making the virtual environment $venv"
    "$python" -m venv --clear "$venv"
  fi
  "$venv/bin/pip" install -q --disable-pip-version-check -r tools/requirements.txt
  # The package is used where it stands; CMake puts the extension beside it.
  local packages
  packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  echo "$PWD/python" >"$packages/loopsmith.pth"
  printf '#!%s\nfrom loopsmith.cli import main\n\nmain()\n' "$PWD/$venv/bin/python" \
    >"$venv/bin/loopsmith"
  chmod +x "$venv/bin/loopsmith"
  echo "$stamp" >"$venv/stamp"
}

install_packages tools/packages.txt ${1:+tools/packages_$1.txt}
make_environment
"$venv/bin/python" tools/fetch_isl.py >/dev/null
