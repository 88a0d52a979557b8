"""The general solver: any phases, any mean strain with six components, any small-strain law.

`elasticity`, `materials` and `laws` describe phases. `cell` has the discrete equations, `stepping`
Newton's method along a path, `rve` the simulation of an RVE, `constants` its effective constants.

Tensors are vectors of six numbers in Kelvin's notation inside this room: xx, yy, zz, √2 xy, √2 xz,
√2 yz. So the product of two vectors is the double contraction of the tensors, and a stiffness is a
symmetric matrix. What users give and get has components of tensors, xx, yy, zz, xy, xz, yz.
"""
