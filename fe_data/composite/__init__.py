"""The general solver: any phases, any mean strain with six components, any small-strain law.

`elasticity`, `materials` and `laws` describe phases. `model` has the discrete equations, `stepping`
the equations along a path, `rve` the simulation of an RVE, and `constants` its effective
constants.

Inside this subpackage tensors are vectors of six numbers in Kelvin's notation: xx, yy, zz, √2 xy,
√2 xz, √2 yz. The scalar product of two vectors is then the double contraction of the tensors, and a
stiffness is a symmetric matrix. Public arguments and results have tensor components xx, yy, zz, xy,
xz, yz.
"""
