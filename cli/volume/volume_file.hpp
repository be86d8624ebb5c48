// Specifications of volumes: files of HCL or JSON, as the API takes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "runtime/base/result.hpp"

namespace nomad::cli {

/// The volume that a file describes. A file without `type` is of a CSI volume; of another type it
/// is refused. Errors name the key.
Result<boost::json::object> volume_of_file(const std::string& file, std::string text);

/// "10GiB", "1.5 GB", "4096": bytes; units as Nomad's users write them, of 1000 and of 1024.
Result<std::int64_t> parse_bytes(std::string_view text);

/// "key=value" of each, as the header X-Nomad-CSI-Secrets carries them.
Result<std::string> secrets_header(const std::vector<std::string>& given);

/// The same as an object.
Result<boost::json::object> pairs_of(const std::vector<std::string>& given, std::string_view flag);

}  // namespace nomad::cli
