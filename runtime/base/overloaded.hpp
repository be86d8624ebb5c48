// Overloaded: one visitor of a variant, made of a function for each alternative:
// `std::visit(Overloaded{[](const A&) {…}, [](const B&) {…}}, variant)`.
#pragma once

namespace nomad {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace nomad
