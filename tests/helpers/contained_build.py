"""A program: build the small project in a container, until somebody kills it.

Arguments: repository, tree, home, toolchain as JSON.
"""

import json
import sys
from pathlib import Path

from ci.builds.contained import build_contained
from ci.builds.engine import Engine
from ci.builds.toolchain.image import ToolchainImage
from ci.console import Console
from ci.git import Git
from ci.home import Home
from tests.helpers.cuda_project import request

if __name__ == "__main__":
    repository, tree, root, described = sys.argv[1:]
    values = json.loads(described)
    toolchain = ToolchainImage(**{**values, "nvcc_archs": tuple(values["nvcc_archs"])})
    home = Home(root=Path(root), checkout=Path(root))
    with Engine.connect() as reached:
        build_contained(Git(path=Path(repository)), request(tree), home, Console(), reached, toolchain, environ={})
