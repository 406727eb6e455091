#!/usr/bin/env python3
"""Opens a cache with VTK and checks what it shows.

VTK's own XDMF reader is used where the Python modules have one (ParaView's and PyPI's do, Debian's python3-vtk9 does
not). Otherwise this script interprets the XDMF text itself, reads the arrays with h5py and builds VTK's grids from
them. Either way the grids are compared with the numbers given as arguments and with the arrays in cache.h5.
"""

import argparse
import os
import sys
import xml.etree.ElementTree as ElementTree

import h5py
import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkIdList, vtkPoints
from vtkmodules.vtkCommonDataModel import VTK_POLY_LINE, VTK_TRIANGLE, vtkUnstructuredGrid

VTK_CELL_OF_XDMF = {"2": VTK_POLY_LINE, "Triangle": VTK_TRIANGLE}


def xdmf_reader():
    """A VTK reader for XDMF, or None where this VTK was built without."""
    try:
        from vtkmodules.vtkIOXdmf2 import vtkXdmfReader

        return vtkXdmfReader()
    except ImportError:
        pass
    try:
        from vtkmodules.vtkIOXdmf3 import vtkXdmf3Reader

        return vtkXdmf3Reader()
    except ImportError:
        return None


def leaves(data):
    """The grids of a VTK data set, composite or not, in order."""
    if data is None:
        return []
    if data.IsA("vtkMultiBlockDataSet"):
        return [leaf for i in range(data.GetNumberOfBlocks()) for leaf in leaves(data.GetBlock(i))]
    return [data]


def frames_by_vtk(path, reader):
    """(time, grids) of every frame, by VTK's reader."""
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline

    reader.SetFileName(path)
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS()) or []
    for time in times:
        reader.UpdateTimeStep(time)
        yield time, [copy_of(grid) for grid in leaves(reader.GetOutputDataObject(0))]


def copy_of(grid):
    copy = grid.NewInstance()
    copy.DeepCopy(grid)
    return copy


def array_of(item, folder):
    """The array that an XDMF DataItem stands for."""
    shape = [int(n) for n in item.get("Dimensions").split()]
    file, dataset = item.text.split(":")
    with h5py.File(os.path.join(folder, file), "r") as h5:
        values = h5[dataset][()]
    kind = {"Float": "f", "Int": "i"}[item.get("NumberType")]
    if values.dtype != np.dtype(f"{kind}{item.get('Precision')}") or list(values.shape) != shape:
        sys.exit(f"{dataset} is {values.dtype}{values.shape}, not as the XDMF says")
    return values


def cells_of(topology, folder):
    """(VTK cell type, point ids) of every cell."""
    values = array_of(topology.find("DataItem"), folder).ravel()
    kind = topology.get("TopologyType")
    if kind == "Triangle":
        return [(VTK_CELL_OF_XDMF[kind], ids) for ids in values.reshape(-1, 3)]
    cells, at = [], 0
    while at < len(values):
        count = values[at + 1]
        cells.append((VTK_CELL_OF_XDMF[str(values[at])], values[at + 2 : at + 2 + count]))
        at += 2 + count
    return cells


def grid_of(element, folder):
    """The VTK grid of a uniform XDMF grid."""
    points = vtkPoints()
    points.SetData(numpy_to_vtk(array_of(element.find("Geometry/DataItem"), folder), deep=True))
    grid = vtkUnstructuredGrid()
    grid.SetPoints(points)
    for cell_type, ids in cells_of(element.find("Topology"), folder):
        id_list = vtkIdList()
        for i in ids:
            id_list.InsertNextId(int(i))
        grid.InsertNextCell(cell_type, id_list)
    for attribute in element.findall("Attribute"):
        values = numpy_to_vtk(array_of(attribute.find("DataItem"), folder), deep=True)
        values.SetName(attribute.get("Name"))
        grid.GetPointData().AddArray(values)
    return grid


def frames_by_hand(path):
    """(time, grids) of every frame, by this script."""
    folder = os.path.dirname(path)
    temporal = ElementTree.parse(path).getroot().find("Domain/Grid[@CollectionType='Temporal']")
    for frame in temporal.findall("Grid"):
        time = float(frame.find("Time").get("Value"))
        yield time, [grid_of(body, folder) for body in frame.findall("Grid")]


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: {found}, {expected} expected")


def check_frame(number, grids, h5, arguments):
    """Compares one frame with the arguments and with the arrays of the HDF5 file."""
    expect(sum(grid.GetNumberOfPoints() for grid in grids), arguments.points, f"points of frame {number}")
    sizes = [grid.GetCell(i).GetNumberOfPoints() for grid in grids for i in range(grid.GetNumberOfCells())]
    expect(sizes, arguments.cell_sizes, f"points a cell in frame {number}")
    bodies = [h5[kind][str(i)] for kind in ("curves", "meshes") for i in range(len(h5[kind]))]
    expect(len(grids), len(bodies), f"bodies of frame {number}")
    for grid, body in zip(grids, bodies):
        points = vtk_to_numpy(grid.GetPoints().GetData())
        if not np.isfinite(points).all():
            sys.exit(f"frame {number}: {body.name} has coordinates that are not finite")
        if not np.array_equal(points, body["positions"][str(number)][()]):
            sys.exit(f"frame {number}: the points of {body.name} are not those of the file")
        if "radius" in body:
            radius = grid.GetPointData().GetArray("radius")
            if radius is None or not np.array_equal(vtk_to_numpy(radius), body["radius"][()]):
                sys.exit(f"frame {number}: the radii of {body.name} are not those of the file")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("xdmf", help="OUT/cache.xdmf")
    parser.add_argument("--frames", type=int, required=True)
    parser.add_argument("--points", type=int, required=True, help="of all bodies")
    parser.add_argument("--cell-sizes", type=int, nargs="+", required=True, help="points of each cell, in order")
    arguments = parser.parse_args()

    path = os.path.abspath(arguments.xdmf)
    reader = xdmf_reader()
    frames = list(frames_by_vtk(path, reader) if reader else frames_by_hand(path))
    expect(len(frames), arguments.frames, "frames")
    with h5py.File(os.path.join(os.path.dirname(path), "cache.h5"), "r") as h5:
        expect(int(h5["frame_count"][0]), arguments.frames, "frame_count")
        expect([time for time, _ in frames], h5["time"][: arguments.frames].tolist(), "times")
        for number, (_, grids) in enumerate(frames):
            check_frame(number, grids, h5, arguments)
    print(f"{path}: {len(frames)} frames, read by {reader.GetClassName() if reader else 'this script'}")


if __name__ == "__main__":
    main()
