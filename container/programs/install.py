# Installs the Python packages that a handler declares, in a process with the handlers' uid. The runner receives the result
# as a tar, which it unpacks and keeps like a skill's files. It trusts nothing else that the packages' own build programs
# leave behind.
#
# stdin: JSON `{file, metadata, network}`: a requirements file, or the inline metadata (TOML) of a script.
# Descriptor 3: the tar of the packages. stderr: the installer's output. The packages are first installed into TMPDIR.

import compileall, json, os, py_compile, subprocess, sys, tarfile

def fail(text):
    print(text, file=sys.stderr)
    sys.exit(1)

def requirements_of(metadata, folder):
    try:
        import tomllib
    except ImportError:
        from pip._vendor import tomli as tomllib
    from pip._vendor.packaging.specifiers import SpecifierSet
    try:
        known = tomllib.loads(metadata)
    except tomllib.TOMLDecodeError as error:
        fail("The script's inline metadata is not TOML: %s" % error)
    version = "%d.%d.%d" % sys.version_info[:3]
    needed = known.get("requires-python", "")
    if version not in SpecifierSet(needed):
        fail("The script requires Python %s; this is %s." % (needed, version))
    path = os.path.join(folder, "requirements.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(known.get("dependencies", [])))
    return path

def install(wanted):
    folder = os.environ["TMPDIR"]
    target = os.path.join(folder, "packages")
    os.mkdir(target)
    file = wanted["file"] or requirements_of(wanted["metadata"], folder)
    command = [sys.executable, "-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-cache-dir"]
    # Otherwise pip examines all packages of the interpreter, for half of its time, for warnings that nobody reads.
    command += ["--no-warn-conflicts", "--no-compile", "--no-color", "--progress-bar", "off"]
    command += ["--target", target, "--requirement", file]
    env = dict(os.environ, HOME=folder, PIP_ROOT_USER_ACTION="ignore")
    # With pip's own five, a machine without network takes ten seconds to say so.
    env.setdefault("PIP_RETRIES", "2")
    if not wanted["network"]:
        command.append("--no-index")
        nowhere = "http://127.0.0.1:9"
        env.update(HTTP_PROXY=nowhere, HTTPS_PROXY=nowhere, http_proxy=nowhere, https_proxy=nowhere, GIT_ALLOW_PROTOCOL="file")
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env) as pip:
        broken = False
        for line in pip.stderr:
            broken = broken or b"connection broken by" in line
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
    status = pip.returncode
    if status != 0:
        if not wanted["network"]:
            print("Installs do not reach the network here: put wheels into the skill's folder.", file=sys.stderr)
        elif broken:
            # pip itself ends with a package that it did not find.
            print("The package index could not be reached, or broke its answers off: see the warnings above.", file=sys.stderr)
        sys.exit(status if status > 0 else 1)
    # By content, since the files get other times when they are unpacked.
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(target, quiet=2, workers=1, invalidation_mode=mode, stripdir=target)
    return target

def pack(target):
    with os.fdopen(3, "wb") as out, tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for folder, folders, files in os.walk(target):
            folders.sort()
            for name in sorted(files):
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    tar.add(os.path.realpath(path), os.path.relpath(path, target), recursive=False)

pack(install(json.load(sys.stdin)))
