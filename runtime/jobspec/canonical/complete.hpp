// Filling in what a block leaves out, for blocks that are stored as they are answered. Private to
// this folder.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "runtime/jobspec/schema.hpp"

namespace nomad::jobspec {

/// Adds every missing member of the server form as zero, or null where it may be null; makes null
/// what is an empty list or map.
void complete_stored(boost::json::object& block, const BlockType& type);

/// The text that a complete block is stored as: members sorted by name.
std::string stored_text(const boost::json::object& block);

}  // namespace nomad::jobspec
