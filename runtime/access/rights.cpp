#include "runtime/access/rights.hpp"

#include <utility>

namespace nomad::access {

namespace {

class RuledRights : public Rights {
public:
  explicit RuledRights(Rule rule) : Rights{Form::rule}, rule_{std::move(rule)} {}

private:
  bool decide(Capability needed, const Target& target) const override {
    return rule_(needed, target);
  }

  const Rule rule_;
};

}  // namespace

const RightsRef& Rights::nothing() {
  static const RightsRef rights{new Rights{Form::nothing}};
  return rights;
}

const RightsRef& Rights::everything() {
  static const RightsRef rights{new Rights{Form::everything}};
  return rights;
}

RightsRef Rights::by(Rule rule) {
  return std::make_shared<RuledRights>(std::move(rule));
}

}  // namespace nomad::access
