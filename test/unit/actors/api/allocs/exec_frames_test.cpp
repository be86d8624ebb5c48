#include "actors/api/allocs/exec_frames.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::api;
using host::ExecEvents;
using Size = std::pair<std::uint16_t, std::uint16_t>;

namespace {

ExecInput input_of(std::string_view text) {
  const auto input = parse_exec_input(text);
  REQUIRE(input.has_value());
  return *input;
}

}  // namespace

TEST_CASE("exec frames: output, its end, and the exit code") {
  CHECK(exec_output_frame(ExecEvents::Output::out, "hello\n")
        == R"({"stdout":{"data":"aGVsbG8K"}})");
  CHECK(exec_output_frame(ExecEvents::Output::err, {"\0\xff", 2})
        == R"({"stderr":{"data":"AP8="}})");
  CHECK(exec_output_frame(ExecEvents::Output::out, "") == R"({"stdout":{"close":true}})");
  CHECK(exec_exit_frame(0) == R"({"exited":true,"result":{}})");
  CHECK(exec_exit_frame(137) == R"({"exited":true,"result":{"exit_code":137}})");
}

TEST_CASE("exec frames: what the client asks for") {
  CHECK(input_of("{}") == ExecInput{});
  CHECK(input_of(R"({"stdin":{"data":"aGVsbG8K"}})")
        == ExecInput{.data = "hello\n", .closes = false, .size = {}});
  CHECK(input_of(R"({"stdin":{"close":true}})")
        == ExecInput{.data = {}, .closes = true, .size = {}});
  CHECK(input_of(R"({"stdin":{"data":"","close":false}})") == ExecInput{});
  CHECK(input_of(R"({"tty_size":{"height":24,"width":80}})").size == Size{24, 80});
  CHECK(input_of(R"({"tty_size":{"height":-1,"width":1e9}})").size == Size{0, 65535});
  CHECK(input_of(R"({"tty_size":{}})").size == Size{0, 0});
}

TEST_CASE("exec frames: members of other types and unknown ones are passed over") {
  CHECK(input_of(R"({"stdin":null,"tty_size":7,"more":[]})") == ExecInput{});
  CHECK(input_of(R"({"stdin":{"data":5,"close":"yes"}})") == ExecInput{});
}

TEST_CASE("exec frames: what is no frame is refused") {
  CHECK(parse_exec_input("[]").error().what == "a frame is not a JSON object");
  CHECK(parse_exec_input("{").has_error());
  CHECK(parse_exec_input("").has_error());
  CHECK(parse_exec_input(R"({"stdin":{"data":"a"}})").error().what
        == "illegal base64 data at input byte 0");
}
