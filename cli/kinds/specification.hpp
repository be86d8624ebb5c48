// Specifications of what is put as a whole: files of HCL or JSON.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>

#include "runtime/base/result.hpp"

namespace nomad::cli {

/// Names in HCL with those of the API.
using HclNames = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// The members of `block` by their names in the API; one that `names` doesn't have is an error.
Result<boost::json::object> renamed(const boost::json::object& block, HclNames names);

/// A namespace that HCL describes, as the API takes it.
Result<boost::json::object> namespace_of_hcl(std::string text);

/// What a block `block "<name>"` describes, as the API takes it: its attributes by their names in
/// CamelCase, and the label as Name.
Result<boost::json::object> block_of_hcl(const std::string& block,
                                         const std::string& file,
                                         std::string text);

/// A node pool that HCL describes, as the API takes it.
Result<boost::json::object> node_pool_of_hcl(const std::string& file, std::string text);

/// A quota that HCL describes, as the API takes it.
Result<boost::json::object> quota_of_hcl(const std::string& file, std::string text);

/// A JSON object.
Result<boost::json::object> object_of_json(const std::string& text);

}  // namespace nomad::cli
