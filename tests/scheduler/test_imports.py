"""The scheduler is part of the control plane: no torch, no transformers."""

import pkgutil
import subprocess
import sys

import minisgl_tutor.scheduler


def test_nothing_in_the_scheduler_imports_torch() -> None:
    package = minisgl_tutor.scheduler
    modules = [f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)]
    assert f"{package.__name__}.scheduler" in modules
    modules.append("minisgl_tutor.engine.hashing")
    program = (
        f"import sys, {', '.join(modules)}; print(*sorted({{'torch', 'transformers'}} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""
