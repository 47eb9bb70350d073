#!/bin/sh
# Starts perdure isolated: neither PYTHONPATH nor the person's folder may put other packages before ours.
program=$0
if [ -h "$program" ]; then program=$(readlink -f "$program"); fi
python=${program%/*}/python
if [ ! -x "$python" ]; then python=${program%/*}/python3; fi
exec "$python" -I -c 'import sys; from cli.app import main; sys.exit(main())' "$@"
