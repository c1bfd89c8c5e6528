"""A uv and a pip for tests, which reach no index: they write into the folder FAKE_UV what they were told.

As ``python fake_uv.py pip compile ... -o PLAN REQUIREMENTS`` and ``... pip install ... -r REQUIREMENTS`` it is uv,
which makes what is beside the tests importable; as ``python fake_uv.py PIP ...`` pip, which installs nothing.
"""

import json
import os
import sys
import sysconfig
import time
from pathlib import Path

LOCK = """
[[packages]]
name = "torch"
version = "2.13.0+fake"
wheels = [{ url = "https://example.org/torch.whl", size = 7_000_000 }]

[[packages]]
name = "near"
version = "1"
wheels = [{ url = "file:///near.whl", size = 900_000_000 }]

[[packages]]
name = "source"
version = "1"
sdist = { url = "https://example.org/source.tar.gz", size = 3_000_000 }
"""


def pip(words: list[str], notes: Path) -> int:
    if words == ["config", "list"]:
        for name, value in os.environ.items():
            if name.startswith("PIP_") and name != "PIP_CONFIG_FILE":
                print(f":env:.{name[4:].lower().replace('_', '-')}={value!r}")
        return 0
    package = Path(words[-1]).stem
    (notes / f"{package}.pip").write_text(json.dumps(words))
    return int((notes / f"{package}.fails-too").exists())


def main() -> int:
    words, notes = sys.argv[1:], Path(os.environ["FAKE_UV"])
    if words[0] == "PIP":
        return pip(words[1:], notes)
    home = Path(words[words.index("--python") + 1]).parents[1]
    package = home.name.rpartition("-")[0]
    if words[1] == "compile":
        Path(words[words.index("-o") + 1]).write_text(LOCK)
        return 0
    told = {name: value for name, value in os.environ.items() if name.startswith(("UV_", "SSL_", "ALL_PROXY"))}
    (notes / f"{package}.json").write_text(json.dumps({"words": words, "told": told}))
    (home / "half").write_text("")
    (notes / f"{package}.pid").write_text(str(os.getpid()))
    if (notes / f"{package}.fails").exists():
        print("error: no such package")
        return 2
    # A file that names what to wait for; not for ever, so that a test that is wrong ends.
    late = time.monotonic() + 60
    while (
        time.monotonic() < late
        and (wanted := notes / f"{package}.waits").exists()
        and not (notes / wanted.read_text()).exists()
    ):
        time.sleep(0.02)
    (place,) = home.glob("lib/python*/site-packages")
    (place / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
