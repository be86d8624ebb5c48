#include "runtime/access/rights.hpp"

#include <utility>

namespace nomad::access {

const RightsRef& Rights::nothing() {
  static const RightsRef rights{new Rights{Form::nothing}};
  return rights;
}

const RightsRef& Rights::everything() {
  static const RightsRef rights{new Rights{Form::everything}};
  return rights;
}

RightsRef Rights::by(Rule rule) {
  return RightsRef{new Rights{Form::rule, std::move(rule)}};
}

}  // namespace nomad::access
