"""`python -m localcloud`, which scripts/localcloud calls."""

import sys

from localcloud.cli import main

sys.exit(main())
