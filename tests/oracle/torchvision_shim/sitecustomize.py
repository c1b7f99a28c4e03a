"""On PYTHONPATH: makes torchvision importable where its compiled extension does not fit the installed torch.

The extension declares operators that torchvision's Python layer refers to when it is imported. Where it cannot be
loaded (a wheel for another flavour of torch), declaring them is enough to build and run every classification model.
"""

import importlib.abc
import importlib.machinery
import sys
from pathlib import Path

_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width,"
    " int sampling_ratio, bool aligned) -> Tensor",
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h,"
    " SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups,"
    " SymInt offset_groups, bool use_mask) -> Tensor",
)
_libraries = []


def declare() -> None:
    """Declare the operators, once, unless a working extension has."""
    import warnings

    import torch

    warnings.filterwarnings("ignore", module="torchvision")
    if _libraries or hasattr(torch.ops.torchvision, "nms") or _extension_fits():
        return
    library = torch.library.Library("torchvision", "DEF")
    for operator in _OPERATORS:
        library.define(operator)
    _libraries.append(library)


def _extension_fits() -> bool:
    """Whether torchvision's extension can be loaded, which declares the operators itself."""
    import torch

    spec = importlib.machinery.PathFinder.find_spec("torchvision")
    for folder in (spec.submodule_search_locations if spec is not None else None) or ():
        for library in Path(folder).glob("_C*.so"):
            try:
                torch.ops.load_library(library)
            except OSError:
                continue
            return True
    return False


class _BeforeTorchvision(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            declare()
        return


sys.meta_path.insert(0, _BeforeTorchvision())
