// Merging maps as github.com/imdario/mergo does.
#pragma once

#include "runtime/base/result.hpp"
#include "runtime/template/eval/context.hpp"

namespace nomad::templates {

/// What `from` has and `into` lacks or has empty goes into `into`; of maps in both, level by level.
/// With `overrides`, all that is not empty in `from`.
Result<void> merge_maps(
    Context& context, Map& into, const Value& from, bool overrides, int depth = 0);

/// Sets a key. Fails where the map would come to hold itself.
Result<void> set_key(Context& context, Map& map, std::string_view key, const Value& value);

/// A copy that shares no map with the original.
Result<Value> copy_deep(Context& context, const Value& value, int depth = 0);

}  // namespace nomad::templates
