#include "actors/api/allocs/exec_frames.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "runtime/base/base64.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::api {
namespace {

/// A number of rows or columns; 0 without.
std::uint16_t measure(const boost::json::object& size, std::string_view name) {
  const auto* value = size.if_contains(name);
  if (value == nullptr || !value->is_number()) return 0;
  const auto number = value->to_number<double>();
  return static_cast<std::uint16_t>(std::clamp(number, 0.0, 65535.0));
}

const boost::json::object* member(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

}  // namespace

std::string exec_output_frame(host::ExecEvents::Output which, std::string_view bytes) {
  std::string json = which == host::ExecEvents::Output::out ? R"({"stdout":{)" : R"({"stderr":{)";
  if (bytes.empty())
    json += R"("close":true}})";
  else
    ((json += R"("data":")") += encode_base64(bytes)) += R"("}})";
  return json;
}

std::string exec_exit_frame(int code) {
  return code == 0 ? R"({"exited":true,"result":{}})"
                   : R"({"exited":true,"result":{"exit_code":)" + std::to_string(code) + "}}";
}

Result<ExecInput> parse_exec_input(std::string_view text) {
  const auto parsed = NOMAD_TRY(parse_json(text));
  const auto* frame = parsed.if_object();
  if (frame == nullptr) return Error{Errc::invalid_argument, "a frame is not a JSON object"};
  ExecInput input;
  if (const auto* stdin_of = member(*frame, "stdin")) {
    if (const auto* data = stdin_of->if_contains("data"); data != nullptr && data->is_string()) {
      input.data = NOMAD_TRY(decode_base64(data->get_string()));
    }
    const auto* close = stdin_of->if_contains("close");
    input.closes = close != nullptr && close->is_bool() && close->get_bool();
  }
  if (const auto* size = member(*frame, "tty_size"))
    input.size = {measure(*size, "height"), measure(*size, "width")};
  return input;
}

}  // namespace nomad::api
