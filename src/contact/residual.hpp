// The one residual that judges every friction solver. It starts from the contact forces alone:
//   v̂ = A⁻¹ (f + Bᵀ r),  û = B v̂ + k,  e_c = s r − P_K(s r − û − μ ‖û_T‖ n)
// with s the inverse mass at the contact, so a feasible but wrong velocity cannot score well. r satisfies
// Signorini-Coulomb with û exactly when every e_c vanishes (De Saxcé's bipotential form).
#pragma once

#include <span>

#include "contact/contact.hpp"

namespace stiction {

/// ‖e‖ over the larger of ‖û‖ and ‖s r‖ (l2 over contacts): dimensionless. `r` excludes cohesion; k_N in m/s;
/// compliance in 1/kg; `inverse_mass` is a value a node, zero where fixed.
double coulomb_error(std::span<const Contact> contacts, std::span<const Vec3> r, std::span<const double> k_N,
                     double compliance, std::span<const Vec3> v_hat, std::span<const double> inverse_mass,
                     const Skin& skin = {});

}  // namespace stiction
