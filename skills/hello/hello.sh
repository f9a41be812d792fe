#!/usr/bin/env bash
set -euo pipefail

name=$(cat)
printf 'Hello, %s!\n' "${name:-world}"
