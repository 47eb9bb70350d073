"""python -m worker"""

import sys

from worker.serve import main

if __name__ == "__main__":
    sys.exit(main())
