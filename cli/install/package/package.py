#!/usr/bin/env python3
"""Makes packages of what `meson install` installs of a build: of Debian (with one for debuggers), a tarball that brings
its libraries, and a container's file system.

    package.py BUILD OUT [-version V] [-quick] [deb|tarball|rootfs]...     all three if none is named

No debhelper: the build is meson's, the package has no library of its own that others link, and what is left of a
package's making is a tree, a control file and dpkg-deb. Two runs over one build make the same bytes.
"""
import argparse
import gzip
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
MAINTAINER = "nomadctl maintainers <maintainers@nomadctl.invalid>"
DESCRIPTION = """workload orchestrator that speaks Nomad's API and job language
 One program is the server, the client and the command line: it places the
 tasks of jobs on the machines of a cluster, runs them, watches over them and
 tells how they are."""
# What every Debian has. A tarball brings the rest.
OF_THE_SYSTEM = re.compile(r"(ld-linux-.*|libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|libresolv)\.so\.\d+$")
HELPERS = "usr/libexec/nomadctl"


def run(*command, **how):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **how).stdout


def put(tree, path, text, mode=0o644):
    path = os.path.join(tree, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    data = text if isinstance(text, bytes) else text.encode()
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, mode)


def read(*path):
    """A file's bytes."""
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def files_of(tree):
    """Of files, links and folders, sorted, as paths in the tree."""
    found = []
    for folder, folders, files in os.walk(tree):
        found += [os.path.relpath(os.path.join(folder, name), tree) for name in folders + files]
    return sorted(found)


def is_program(path):
    return os.path.isfile(path) and not os.path.islink(path) and read(path)[:4] == b"\x7fELF"


def is_dynamic(path):
    return is_program(path) and "(NEEDED)" in run("readelf", "-d", path)


class Build:
    """A build directory, and what is told of it."""

    def __init__(self, folder, version, is_quick):
        self.folder = os.path.abspath(folder)
        self.is_quick = is_quick
        options = json.loads(run("meson", "introspect", "--buildoptions", self.folder))
        values = {option["name"]: option["value"] for option in options}
        self.prefix = values["prefix"].strip("/")
        self.has_symbols = values["debug"]
        self.installed = json.loads(run("meson", "introspect", "--installed", self.folder))
        commit = run("git", "-C", ROOT, "log", "-1", "--format=%ct %h").split()
        self.epoch = int(os.environ.get("SOURCE_DATE_EPOCH", commit[0]))
        self.version = version or self.version_of_tree(commit[1])
        self.machine = run("dpkg", "--print-architecture").strip()

    @staticmethod
    def version_of_tree(commit):
        """The release, or what has come since: later commits are later versions."""
        meson = read(ROOT, "meson.build").decode()
        version = re.search(r"version: '([^']+)'", meson)[1]
        tags = run("git", "-C", ROOT, "tag", "--points-at", "HEAD").split()
        if "v" + version in tags:
            return version
        count = run("git", "-C", ROOT, "rev-list", "--count", "HEAD").strip()
        return f"{version}+git{count}.{commit}"

    def install(self, tree):
        """What is installed, below usr, whatever the build's prefix is; with its symbols."""
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(self.epoch)}
        environment.pop("DESTDIR", None)
        run("meson", "install", "-C", self.folder, "--no-rebuild", "--quiet", "--tags", "runtime,devel,plugin",
            "--destdir", tree, env=environment)
        if self.prefix != "usr":
            shutil.move(os.path.join(tree, self.prefix), os.path.join(tree, "usr.new"))
            shutil.rmtree(os.path.join(tree, "usr"), ignore_errors=True)
            os.rename(os.path.join(tree, "usr.new"), os.path.join(tree, "usr"))
        unit = os.path.join(tree, "usr/lib/systemd/system/nomadctl.service")
        put(tree, os.path.relpath(unit, tree), read(unit).decode().replace(f"/{self.prefix}/bin/", "/usr/bin/"))
        site = os.path.join(tree, "usr/share/zsh/site-functions")
        if os.path.isdir(site):  # where packages have it
            os.rename(site, os.path.join(tree, "usr/share/zsh/vendor-completions"))

    def strip(self, tree, symbols):
        """Takes symbols out of the programs, into files below `symbols` named by build ids."""
        built = {}
        for source, target in self.installed.items():
            built[os.path.relpath(target, "/" + self.prefix)] = source
        for path in files_of(tree):
            program = os.path.join(tree, path)
            if not is_program(program):
                continue
            source = built.get(os.path.relpath(path, "usr"), program)
            build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", source))
            if build_id and self.has_symbols and not self.is_quick:
                target = os.path.join(symbols, "usr/lib/debug/.build-id", build_id[1][:2], build_id[1][2:] + ".debug")
                os.makedirs(os.path.dirname(target), exist_ok=True)
                run("objcopy", "--only-keep-debug", "--compress-debug-sections", source, target)
                os.chmod(target, 0o644)
            run("strip", "--strip-unneeded", "--remove-section=.comment", "--remove-section=.note", program)
            if re.search(r"\.so(\.|$)", path):
                os.chmod(program, 0o644)


def squeeze(path, epoch, level=9):
    """Compresses a file, the same way each time."""
    with open(path + ".gz", "wb") as f, gzip.GzipFile("", "wb", level, f, mtime=epoch) as z:
        z.write(read(path))
    os.remove(path)
    os.chmod(path + ".gz", 0o644)


def changelog(build):
    date = run("date", "-u", "-R", "-d", f"@{build.epoch}").strip()
    return (f"nomadctl ({build.version}) unstable; urgency=medium\n\n  * As of {build.version}: the changes are those of "
            f"the repository's log.\n\n -- {MAINTAINER}  {date}\n")


def package_files(build, tree):
    """Adds what a package of Debian has besides."""
    documents = "usr/share/doc/nomadctl"
    os.remove(os.path.join(tree, documents, "LICENSE"))
    put(tree, documents + "/copyright", read(HERE, "copyright"))
    put(tree, documents + "/changelog", changelog(build))
    squeeze(os.path.join(tree, documents, "changelog"), build.epoch)
    for path in files_of(tree):
        if path.startswith("usr/share/man/man1/"):
            squeeze(os.path.join(tree, path), build.epoch)
    put(tree, "etc/nomad.d/nomadctl.hcl", read(HERE, "nomadctl.hcl"), 0o640)
    put(tree, "usr/lib/sysusers.d/nomadctl.conf", read(HERE, "sysusers.conf"))
    put(tree, "usr/share/lintian/overrides/nomadctl", read(HERE, "lintian-overrides"))
    put(tree, "usr/lib/tmpfiles.d/nomadctl.conf", read(HERE, "tmpfiles.conf"))
    # Debian 12 looks into both, its tools only into this one.
    os.makedirs(os.path.join(tree, "lib"), exist_ok=True)
    shutil.move(os.path.join(tree, "usr/lib/systemd"), os.path.join(tree, "lib/systemd"))


def depends(build, tree):
    """The packages of the shared libraries, as dpkg-shlibdeps finds them."""
    programs = [os.path.join(tree, path) for path in files_of(tree) if is_program(os.path.join(tree, path))]
    with tempfile.TemporaryDirectory() as folder:
        put(folder, "debian/control", f"Source: nomadctl\n\nPackage: nomadctl\nArchitecture: {build.machine}\n")
        libraries = os.path.dirname(next(p for p in programs if "/libnomadctl-plugin.so" in p))
        told = run("dpkg-shlibdeps", "-O", "--ignore-missing-info", "-l" + libraries, "-xnomadctl",
                   *[f"-e{p}" for p in programs], cwd=folder, stderr=subprocess.DEVNULL)
    return re.search(r"shlibs:Depends=(.*)", told)[1]


def control(build, name, **fields):
    size = fields.pop("tree_size")
    text = (f"Package: {name}\nSource: nomadctl\nVersion: {build.version}\nArchitecture: {build.machine}\n"
            f"Maintainer: {MAINTAINER}\nInstalled-Size: {size}\n")
    if name == "nomadctl":
        text = text.replace("Source: nomadctl\n", "")
    return text + "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in fields.items())


def build_deb(build, tree, out, name, **fields):
    paths = [path for path in files_of(tree) if not path.startswith("DEBIAN")]
    size = sum(-(-os.lstat(os.path.join(tree, p)).st_size // 1024) for p in paths)
    sums = [p for p in paths if os.path.isfile(os.path.join(tree, p)) and not os.path.islink(os.path.join(tree, p))]
    put(tree, "DEBIAN/control", control(build, name, tree_size=size, **fields))
    put(tree, "DEBIAN/md5sums", run("md5sum", *sums, cwd=tree) if sums else "")
    for folder, _, _ in os.walk(tree):
        os.chmod(folder, 0o755)
    for path in files_of(tree):
        os.utime(os.path.join(tree, path), (build.epoch, build.epoch), follow_symlinks=False)
    target = os.path.join(out, f"{name}_{build.version}_{build.machine}.deb")
    run("dpkg-deb", "--root-owner-group", *(["-Zgzip", "-z1"] if build.is_quick else ["-Zxz"]), "--build", tree, target,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(build.epoch)})
    return target


def make_deb(build, tree, symbols, out):
    """The package, that of its symbols, and that of what plugins are made with."""
    made = []
    shutil.copytree(tree, own := tree + ".deb", symlinks=True)
    package_files(build, own)
    shutil.move(os.path.join(own, "usr/include"), os.path.join(tree + ".dev", "usr/include"))
    for path in files_of(own):
        if path.endswith(("/pkgconfig/nomadctl-plugin.pc", "/libnomadctl-plugin.so")):
            target = os.path.join(tree + ".dev", path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.move(os.path.join(own, path), target)
    for leftover in files_of(own)[::-1]:
        if os.path.isdir(os.path.join(own, leftover)) and not os.listdir(os.path.join(own, leftover)):
            os.rmdir(os.path.join(own, leftover))
    needed = depends(build, own)
    for name in ("postinst", "prerm", "postrm"):
        put(own, "DEBIAN/" + name, read(HERE, name), 0o755)
    put(own, "DEBIAN/conffiles", "/etc/nomad.d/nomadctl.hcl\n")
    put(own, "DEBIAN/shlibs", f"libnomadctl-plugin 1 nomadctl (>= {build.version})\n")
    put(own, "DEBIAN/triggers", "activate-noawait ldconfig\n")
    made.append(build_deb(build, own, out, "nomadctl", Depends=needed, Recommends="systemd, iptables",
                          Suggests="containernetworking-plugins, docker.io | podman, qemu-system-x86",
                          Section="admin", Priority="optional", Description=DESCRIPTION))
    for part, name in ((tree + ".dev", "nomadctl-dev"), (symbols, "nomadctl-dbgsym")):
        if not os.path.isdir(os.path.join(part, "usr")):
            continue
        documents = os.path.join(part, "usr/share/doc")
        os.makedirs(documents, exist_ok=True)
        os.symlink("nomadctl", os.path.join(documents, name))
        made.append(build_deb(build, part, out, name, **fields_of_part(build, name, part)))
    return made


def fields_of_part(build, name, tree):
    same = f"nomadctl (= {build.version})"
    if name == "nomadctl-dev":
        return {"Depends": same + ", libcapnp-dev", "Section": "libdevel", "Priority": "optional",
                "Description": "what plugins of nomadctl are made with\n Headers, and what pkg-config says of them."}
    ids = [p.split("/")[-2] + p.split("/")[-1].removesuffix(".debug") for p in files_of(tree) if p.endswith(".debug")]
    return {"Depends": same, "Section": "debug", "Priority": "optional", "Auto-Built-Package": "debug-symbols",
            "Build-Ids": " ".join(ids), "Description": "debug symbols for nomadctl"}


def libraries_of(program, beside):
    """The shared libraries that a program is run with: their names and where they are."""
    told = run("ldd", program, env={**os.environ, "LD_LIBRARY_PATH": beside})
    return dict(re.findall(r"(\S+) => (/\S+)", told) + [(os.path.basename(p), p) for p in re.findall(r"^\s(/\S+) \(", told, re.M)])


def all_libraries(tree):
    found = {}
    machine = next(p for p in files_of(tree) if p.endswith("/libnomadctl-plugin.so"))
    beside = os.path.dirname(os.path.join(tree, machine))
    for path in files_of(tree):
        program = os.path.join(tree, path)
        if is_dynamic(program):
            found.update(libraries_of(program, beside))
    return {name: path for name, path in found.items() if not path.startswith(tree)}


def write_tar(build, tree, target, top):
    """Owned by root, by name, and of one time."""
    def entry(info):
        info.uid = info.gid = 0
        info.uname = info.gname = "root"
        info.mtime = build.epoch
        return info
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as tar:
        for path in files_of(tree):
            tar.add(os.path.join(tree, path), os.path.join(top, path), recursive=False, filter=entry)
    return target


def make_tarball(build, tree, out):
    """bin, libexec, lib and share; runs wherever it is unpacked."""
    work = tree + ".tarball"
    shutil.copytree(os.path.join(tree, "usr"), work, symlinks=True)
    private = os.path.join(work, "lib/nomadctl")
    os.makedirs(private)
    brought = {n: p for n, p in all_libraries(tree).items() if not OF_THE_SYSTEM.match(n)}
    for name, path in brought.items():
        shutil.copy(os.path.realpath(path), os.path.join(private, name))
        os.chmod(os.path.join(private, name), 0o644)
        run("patchelf", "--set-rpath", "$ORIGIN", os.path.join(private, name))
    for path in files_of(work):
        program = os.path.join(work, path)
        if path.startswith("lib/nomadctl/") or not is_dynamic(program):
            continue
        up = os.path.relpath(private, os.path.dirname(program))
        own = os.path.relpath(os.path.join(work, "lib", os.path.basename(multiarch(work))), os.path.dirname(program))
        run("patchelf", "--set-rpath", f"$ORIGIN/{up}:$ORIGIN/{own}", program)
    put(work, "etc/nomadctl.hcl", read(HERE, "nomadctl.hcl"))
    top = f"nomadctl-{build.version}-linux-{build.machine}"
    target = write_tar(build, work, os.path.join(out, top + ".tar"), top)
    squeeze(target, build.epoch, 1 if build.is_quick else 9)
    return [target + ".gz"]


def multiarch(tree):
    """The folder of the plugins' library."""
    return os.path.dirname(next(os.path.join(tree, p) for p in files_of(tree) if p.endswith("/libnomadctl-plugin.so")))


def make_rootfs(build, tree, out):
    """What a container needs to run it, and nothing else: no shell, no package manager."""
    work = tree + ".rootfs"
    shutil.copytree(tree, work, symlinks=True)
    for path in ("usr/include", "usr/share", "usr/lib/systemd"):
        shutil.rmtree(os.path.join(work, path), ignore_errors=True)
    for name, path in all_libraries(tree).items():
        folder = "lib64" if name.startswith("ld-linux") else os.path.relpath(multiarch(work), work)
        os.makedirs(os.path.join(work, folder), exist_ok=True)
        shutil.copy(os.path.realpath(path), os.path.join(work, folder, name))
    os.symlink("usr/lib", os.path.join(work, "lib"))
    certificates = "etc/ssl/certs/ca-certificates.crt"
    if os.path.exists("/" + certificates):
        put(work, certificates, read("/" + certificates))
    put(work, "etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n")
    put(work, "etc/group", "root:x:0:\nnogroup:x:65534:\n")
    put(work, "etc/nsswitch.conf", "hosts: files dns\n")
    put(work, "etc/nomad.d/nomadctl.hcl", read(HERE, "nomadctl.hcl"))
    for folder, mode in (("tmp", 0o1777), ("root", 0o700), ("var/lib/nomadctl", 0o700)):
        os.makedirs(os.path.join(work, folder))
        os.chmod(os.path.join(work, folder), mode)
    return [write_tar(build, work, os.path.join(out, f"nomadctl-{build.version}-rootfs-{build.machine}.tar"), "")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("-version", help="instead of the tree's")
    parser.add_argument("-quick", action="store_true", help="for tests: hardly compresses, and keeps no symbols")
    parser.add_argument("kinds", nargs="*", metavar="deb|tarball|rootfs")
    given = parser.parse_intermixed_args()
    os.umask(0o022)
    os.makedirs(given.out, exist_ok=True)
    build = Build(given.build, given.version, given.quick)
    if unknown := set(given.kinds) - {"deb", "tarball", "rootfs"}:
        parser.error(f"no package is called {', '.join(sorted(unknown))}")
    kinds = given.kinds or ["deb", "tarball", "rootfs"]
    with tempfile.TemporaryDirectory(prefix="nomadctl-package-") as work:
        tree, symbols = os.path.join(work, "tree"), os.path.join(work, "symbols")
        build.install(tree)
        build.strip(tree, symbols)
        made = []
        if "deb" in kinds:
            made += make_deb(build, tree, symbols, given.out)
        if "tarball" in kinds:
            made += make_tarball(build, tree, given.out)
        if "rootfs" in kinds:
            made += make_rootfs(build, tree, given.out)
    for path in made:
        print(path)


if __name__ == "__main__":
    sys.exit(main())
