#!/bin/sh
# Installs what stiction builds and tests with, from Debian 12's or Ubuntu 24.04's packages. Does nothing where all are
# there. Runs as root, or uses sudo.
set -eu

packages="
  g++ cmake ninja-build ccache git
  libeigen3-dev libtbb-dev libhdf5-dev libtomlplusplus-dev libcli11-dev libfmt-dev nlohmann-json3-dev
  libembree-dev libpng-dev libgtest-dev libboost-dev libmetis-dev
  python3 python3-vtk9 python3-h5py python3-numpy ffmpeg
  clang clang-format clang-tidy
"

missing=""
for package in $packages; do
  case "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)" in
    "install ok installed") ;;
    *) missing="$missing $package" ;;
  esac
done
[ -z "$missing" ] && exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "install_packages: needs root or sudo to install:$missing" >&2
    exit 1
  }
  as_root="sudo"
fi
echo "Installing:$missing"
$as_root apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
