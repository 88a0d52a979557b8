"""Custom sparse factorisations of symmetric matrices that change slowly, mostly by Cholesky.

Why it exists. Newton's method on an RVE solves about 60 linear systems. Their matrices have the
same sparsity pattern and change little from one to the next. An earlier factor is therefore a good
preconditioner for conjugate gradients (`fe_data.mechanics.bordered_system`). About seven
factorisations and 200 solves with these factors are enough for an RVE. A preconditioner may be in
single precision, which halves the memory traffic; general libraries factorise in double precision.
On the tangent of an RVE at the default mesh, on one core of an AMD EPYC
(`python -m bench.sparse_solvers`):

    14 612 unknowns                     factorisation [ms]   solve [ms]
    own multifrontal, single precision            9              0.4
    CHOLMOD (PETSc)                              52              1.1
    MUMPS (PETSc)                                32              2.9
    SuperLU (SciPy)                             118              2.9

How it works. `dissection` orders the unknowns by nested dissection of their coordinates. `symbolic`
finds the fronts, which are small dense matrices of the factorisation. `cholesky` factorises the
fronts with LAPACK and BLAS from SciPy. `substitution` solves with the fronts. `indefinite` does
the same for matrices of materials that soften, with signs of the pivots.

How to switch it off. The environment variable FE_DATA_SOLVER selects the solver (`solver`). `own`
is this solver, the default. `cholmod` selects CHOLMOD and `petsc` selects MUMPS, both through the
petsc4py that comes with dolfinx. All of them only provide a preconditioner, so results agree within
the tolerance of Newton's method; with the tolerance 1e-11 they agree to 1e-8.
"""
