# SPDX-License-Identifier: Apache-2.0
"""The command `loopsmith`: lower, build, run and inspect programs; say what works here."""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Optional

try:
    import typer
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.table import Table
except ImportError as error:  # pragma: no cover
    raise SystemExit(f"loopsmith: {error.name} is missing: pip install 'loopsmith[cli]'") from None

import loopsmith as ls
from loopsmith import _core
from loopsmith.ir import IRModule
from loopsmith.tir import PrimFunc

app = typer.Typer(
    help="A tensor-program compiler with schedules that one can see.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Program = Annotated[
    str,
    typer.Argument(
        metavar="FILE[:FUNCTION]",
        help="A Python file that makes functions or modules, a script, or JSON; and which one.",
    ),
]
TargetOption = Annotated[
    str,
    typer.Option("--target", "-t", help="What code is generated for: 'llvm -mcpu=native', 'c'."),
]
DumpOption = Annotated[
    Optional[list[str]],
    typer.Option("--dump-pass", help="Print the program before and after this pass; or 'all'."),
]
Output = Annotated[Optional[Path], typer.Option("--output", "-o", help="The file to write.")]
HeaderOption = Annotated[Optional[Path], typer.Option(help="A C header to write.")]
SizeOption = Annotated[
    Optional[list[str]], typer.Option(help="A symbolic size, as n=1000; 64 without.")
]
DEFAULT_TARGET = "llvm -mcpu=native"


def load_programs(path: Path) -> dict[str, PrimFunc | IRModule]:
    """Return the functions and modules that a file makes, by name."""
    if path.suffix == ".py":
        spec = importlib.util.spec_from_file_location("__loopsmith_program__", path)
        if spec is None or spec.loader is None or not path.exists():
            raise typer.BadParameter(f"{path} cannot be read")
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(path.parent))
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.pop(0)
        found: dict[str, PrimFunc | IRModule] = {}
        for name, value in vars(module).items():
            if isinstance(value, IRModule):
                found[name] = value
            elif isinstance(value, PrimFunc):
                # What nobody has named is called as in the file.
                is_named = value.name != "main"
                found[name] = value if is_named else value.with_attr("global_symbol", name)
        return found
    try:
        text = path.read_text()
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read: {error.strerror}") from None
    is_json = path.suffix == ".json"
    program = ls.from_json(text) if is_json else _core.parse_script(text, str(path))
    if isinstance(program, PrimFunc):
        return {program.name: program}
    if isinstance(program, IRModule):
        return {"main": program}
    raise typer.BadParameter(f"{path} holds a {type(program).__name__}, no function or module")


def load_program(program: str) -> PrimFunc | IRModule:
    """Return what ``FILE[:FUNCTION]`` means: a function of a module, too."""
    file, _, wanted = program.partition(":")
    found = load_programs(Path(file))
    if not wanted:
        if len(found) == 1:
            return next(iter(found.values()))
        if "main" in found:
            return found["main"]
        names = ", ".join(found) or "none"
        raise typer.BadParameter(f"{file} makes several functions or none: {names}; add :NAME")
    if wanted in found:
        return found[wanted]
    for value in found.values():
        if isinstance(value, IRModule) and wanted in value:
            return value[wanted]
    raise typer.BadParameter(f"{file} makes no '{wanted}', only {', '.join(found) or 'nothing'}")


def write_or_print(text: str, output: Path | None, language: str = "python") -> None:
    """Write a text to a file, or print it, in colour on a terminal."""
    if output is not None:
        output.write_text(text)
    elif sys.stdout.isatty():
        Console().print(Syntax(text, language))
    else:
        print(text)


@app.command()
def lower(
    program: Program,
    target: TargetOption = DEFAULT_TARGET,
    dump_pass: DumpOption = None,
    output: Output = None,
) -> None:
    """Show a program as a code generator takes it."""
    lowered = ls.lower(load_program(program), ls.Target(target), dump=dump_pass)
    is_json = output is not None and output.suffix == ".json"
    write_or_print(ls.to_json(lowered) if is_json else lowered.script(), output)


@app.command()
def build(
    program: Program,
    output: Annotated[Path, typer.Option("--output", "-o", help="A .so, .a, .o, .s, .ll or .c.")],
    target: TargetOption = DEFAULT_TARGET,
    header: HeaderOption = None,
    dump_pass: DumpOption = None,
) -> None:
    """Compile a program into a file that other programs link or load."""
    ls.build(load_program(program), ls.Target(target), dump=dump_pass).export(output, header)


def random_arguments(func: PrimFunc, sizes: dict[str, int], seed: int) -> list[Any]:
    """Return arrays and numbers for a function, its symbolic sizes as told."""
    import numpy as np

    random = np.random.default_rng(seed)
    buffers = func.buffer_map
    arguments: list[Any] = []

    def size_of(extent: Any) -> int:
        if isinstance(extent, ls.tir.Var):
            return sizes.setdefault(extent.name, 64)
        try:
            return int(extent)
        except TypeError:
            raise typer.BadParameter(f"a size is {extent}: call the function from Python") from None

    for param in func.params:
        buffer = buffers.get(param)
        if buffer is None:
            value = sizes.get(param.name, 64)
            arguments.append(float(value) if "float" in param.dtype else value)
            continue
        array = ls.empty(tuple(size_of(extent) for extent in buffer.shape), buffer.dtype)
        view = np.from_dlpack(array) if "float8" not in buffer.dtype else None
        if view is not None and view.dtype.kind == "f":
            view[...] = random.standard_normal(view.shape)
        elif view is not None:
            view[...] = random.integers(0, 10, view.shape)
        arguments.append(array)
    return arguments


@app.command()
def run(
    program: Program,
    target: TargetOption = DEFAULT_TARGET,
    size: SizeOption = None,
    seed: Annotated[int, typer.Option(help="Of the random arguments.")] = 0,
) -> None:
    """Compile a program, call it with random arguments, and tell how long a call takes."""
    sizes: dict[str, int] = {}
    for item in size or []:
        name, _, value = item.partition("=")
        if not value.isdigit():
            raise typer.BadParameter(f"'{item}' is no size: write n=1000")
        sizes[name] = int(value)
    loaded = load_program(program)
    module = ls.build(loaded, ls.Target(target))
    func = loaded if isinstance(loaded, PrimFunc) else loaded[module.names[0]]
    arguments = random_arguments(func, sizes, seed)
    timing = module.time(*arguments)
    table = Table("parameter", "dtype", "shape")
    for param, argument in zip(func.params, arguments):
        shape = getattr(argument, "shape", None)
        table.add_row(
            param.name, str(getattr(argument, "dtype", param.dtype)), str(shape or argument)
        )
    console = Console()
    console.print(table)
    console.print(f"{func.name}: {timing}")


@app.command()
def inspect(program: Program, target: TargetOption = DEFAULT_TARGET, output: Output = None) -> None:
    """Show a program, its lowered form, and the code that is generated."""
    loaded = load_program(program)
    sources = ls.build(loaded, ls.Target(target)).inspect()
    parts = [("program", "python", loaded.script()), ("lowered", "python", sources.ir)]
    if ls.Target(target).kind == "c":
        parts.append(("c", "c", sources.c))
    else:
        parts += [("llvm", "llvm", sources.llvm), ("assembly", "nasm", sources.asm)]
    if output is None and sys.stdout.isatty():
        table = Table(*(name for name, _, _ in parts), expand=True)
        table.add_row(*(Syntax(text, language, word_wrap=True) for _, language, text in parts))
        Console().print(table)
        return
    write_or_print("\n".join(f"==== {name} ====\n{text}" for name, _, text in parts), output)


def library_version(package: str) -> str:
    """Return the version of an installed package, or say that there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def check_llvm() -> str:
    """Return what target llvm is here; raise when it does not work."""
    triple, cpu, features = _core.processor(DEFAULT_TARGET)
    wanted = ("avx2", "avx512f", "avx512vnni", "avx512bf16", "amx-tile", "fma", "neon", "sve", "v")
    known = set(features.split(","))
    found = [name for name in wanted if f"+{name}" in known]
    try_target(DEFAULT_TARGET)
    return f"{cpu} ({triple.split('-')[0]}): {', '.join(found) or 'baseline instructions'}"


def check_c() -> str:
    """Return the compiler that target c uses; raise when it does not work."""
    compiler = _core.c_compiler()
    try_target("c")
    return f"compiled by {compiler}"


def check_driver(kind: str, libraries: tuple[str, ...]) -> str:
    """Return the driver library of a GPU; raise when there is none, as code for it."""
    found = [library for library in libraries if ctypes.util.find_library(library)]
    driver = f"driver library lib{found[0]} is here" if found else "no driver library is here"
    raise RuntimeError(f"no code is generated for {kind} yet; {driver}")


def try_target(target: str) -> None:
    """Build and call a small function; raise when that fails."""
    import numpy as np

    from loopsmith import te

    a = te.placeholder((8,), "float32", name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    ls.build([a, b], target)(x, y)
    if not np.array_equal(y, x + 1):
        raise RuntimeError("a small function gave a wrong result")


@app.command()
def doctor() -> None:
    """Say which targets work here and which do not, and why; and which versions are installed."""
    console = Console()
    table = Table("target", "works", "what", title=f"Loopsmith {ls.__version__}")
    checks: dict[str, Callable[[], str]] = {
        "llvm": check_llvm,
        "c": check_c,
        "cuda": lambda: check_driver("cuda", ("cuda",)),
        "opencl": lambda: check_driver("opencl", ("OpenCL",)),
    }
    for target, check in checks.items():
        try:
            table.add_row(target, "yes", check())
        except (ls.UserError, RuntimeError) as error:
            table.add_row(target, "no", str(error).splitlines()[0])
    console.print(table)
    versions = Table("software", "version")
    versions.add_row("python", platform.python_version())
    versions.add_row("system", f"{platform.system()} {platform.machine()}")
    for package in ("numpy", "torch", "jax", "ml_dtypes", "typer", "rich"):
        versions.add_row(package, library_version(package))
    versions.add_row("processors", str(os.cpu_count()))
    console.print(versions)


def main() -> None:
    """Run the command; a mistake of the user is told in words."""
    try:
        app()
    except ls.UserError as error:
        print(f"loopsmith: {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
