"""Checks what `pip install ldp-pca` brings: `python scripts/check_wheel.py VERSION FOLDER` with wheels and an sdist.

The wheel's name and metadata must state this version, and one wheel must serve every Python from 3.9 on. It must hold
the package, its types, one native module and both licences, and nothing else.
"""

import re
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

LICENCES = {"LICENSE-APACHE", "LICENSE-MIT"}


def main(version: str, folder: Path) -> None:
    wheels = sorted(folder.glob("*.whl"))
    require(wheels, f"{folder} has no wheel")
    for wheel in wheels:
        check_wheel(wheel, version)
    for sdist in folder.glob("*.tar.gz"):
        check_sdist(sdist, version)


def check_wheel(path: Path, version: str) -> None:
    name = re.fullmatch(r"ldp_pca-(.+)-cp39-abi3-(\w+)\.whl", path.name)
    require(name and name[1] == version, f"{path.name} is not ldp_pca-{version}-cp39-abi3-PLATFORM.whl")
    require(not name[2].startswith("linux_"), f"{path.name}: PyPI takes manylinux or musllinux, not plain linux")
    with zipfile.ZipFile(path) as archive:
        require(archive.testzip() is None, f"{path.name} is damaged")
        files = set(archive.namelist())
        info = f"ldp_pca-{version}.dist-info"
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
    require(metadata["Version"] == version, f"{path.name}: METADATA states version {metadata['Version']}")
    require(metadata["Requires-Python"] == ">=3.9", f"{path.name}: METADATA asks for {metadata['Requires-Python']}")
    require(set(metadata.get_all("License-File", [])) == LICENCES, f"{path.name}: METADATA does not name both licences")
    require({f"{info}/licenses/{name}" for name in LICENCES} <= files, f"{path.name} lacks a licence")
    require({"ldp_pca/py.typed", "ldp_pca/_native.pyi"} <= files, f"{path.name} lacks its types")
    needed = [wanted for wanted in metadata.get_all("Requires-Dist", []) if "extra" not in wanted]
    require(needed == ["numpy>=1.22"], f"{path.name}: METADATA requires {needed}")
    native = [name for name in files if re.search(r"\.(so|pyd|dylib|dll)$", name)]
    require(len(native) == 1 and native[0].startswith("ldp_pca/_native."), f"{path.name} has the libraries {native}")
    others = {name for name in files if not name.startswith(("ldp_pca/", f"{info}/"))}
    require(not others, f"{path.name} has {sorted(others)} outside the package")
    print(f"{path.name}: {len(files)} files, {path.stat().st_size // 1000} kB")


def check_sdist(path: Path, version: str) -> None:
    root = f"ldp_pca-{version}"
    with tarfile.open(path) as archive:
        files = set(archive.getnames())
    for name in ("PKG-INFO", "pyproject.toml", "Cargo.lock", *LICENCES):
        require(f"{root}/{name}" in files, f"{path.name} lacks {root}/{name}")
    print(f"{path.name}: {len(files)} files, {path.stat().st_size // 1000} kB")


def require(condition: object, message: str) -> None:
    if not condition:
        sys.exit(f"check_wheel: {message}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
