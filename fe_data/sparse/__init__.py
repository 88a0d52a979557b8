"""A sparse Cholesky factorisation of our own, for symmetric matrices that change slowly.

Why it exists. Newton's method on an RVE solves about 60 linear systems whose matrices
have one sparsity pattern and change little from one to the next. An earlier factor is therefore a
good preconditioner for conjugate gradients (`fe_data.mechanics.bordered_system`): about seven
factorisations and 200 solves with them serve an RVE. A preconditioner may be in single
precision, which halves the memory that is moved; general libraries factorise in double precision.
On the tangent of an RVE at the default mesh, on one core of an AMD EPYC
(`python -m bench.fe_solvers`):

    14 612 unknowns                     factorisation [ms]   solve [ms]
    own multifrontal, single precision            9              0.4
    CHOLMOD (PETSc)                              52              1.1
    MUMPS (PETSc)                                32              2.9
    SuperLU (SciPy)                             118              2.9

How it works. `dissection` orders the unknowns by nested dissection of their coordinates.
`symbolic` finds the fronts, small dense matrices that the factorisation consists of. `cholesky`
factorises the fronts with the LAPACK and BLAS that SciPy comes with. `substitution` solves with
them.

How to switch it off. The environment variable FE_DATA_SOLVER chooses the solver (`solver`): `own`
is the one described here and the default, `cholmod` takes CHOLMOD and `petsc` MUMPS, both through
the petsc4py that comes with dolfinx. The factor is a preconditioner with all of them, so results
agree up to the tolerance of Newton's method; with the tolerance 1e-11, to 1e-8.
"""
