// Filling in what a block leaves out, for blocks that are stored as they are answered. Private to
// this folder.
#pragma once

#include <boost/json/object.hpp>

#include "runtime/jobspec/schema.hpp"

namespace nomad::jobspec {

/// Adds every missing member of the server form as zero, or null where it may be null.
void complete_stored(boost::json::object& block, const BlockType& type);

}  // namespace nomad::jobspec
