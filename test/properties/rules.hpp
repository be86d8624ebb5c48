// Rules: every constraint that cases use, with what it means for a node, said without the code that
// is tested. Nodes of cases have only facts that these know (see inventory.cpp).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "schema/common.capnp.h"
#include "schema/node.capnp.h"

namespace nomad::properties {

struct Rule {
  const char* left;
  const char* operand;
  const char* right;
  bool (*holds)(schema::Node::Reader node);
};

std::span<const Rule> rules();

/// The rule of a constraint or an affinity that a case has made.
bool holds(std::string_view left,
           std::string_view operand,
           std::string_view right,
           schema::Node::Reader node);

/// "attr.cpu.arch" or "meta.rack"; nothing when the node does not have it.
std::optional<std::string_view> fact(schema::Node::Reader node, std::string_view name);

}  // namespace nomad::properties
