// What the fuzz targets of templates share: sources that answer something, and small limits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/template/functions/library.hpp"
#include "runtime/template/render.hpp"
#include "test/fuzz/input.hpp"

namespace fuzz {

class TemplateSources : public nomad::templates::Sources {
public:
  std::optional<std::vector<nomad::templates::ServiceName>> services(
      const nomad::templates::ServicesQuery&) override {
    return std::vector<nomad::templates::ServiceName>{{"web", {"a", "b"}}};
  }

  std::optional<std::vector<nomad::templates::ServiceInstance>> service(
      const nomad::templates::ServiceQuery& query) override {
    if (query.name == "none") return std::nullopt;
    return std::vector<nomad::templates::ServiceInstance>{
        {.id = "id", .name = query.name, .node = "n", .address = "10.0.0.1", .port = 80}};
  }

  std::optional<std::optional<nomad::templates::Variable>> variable(
      const nomad::templates::VariableQuery& query) override {
    if (query.path == "none") return std::nullopt;
    return nomad::templates::Variable{{.name_space = "default", .path = query.path},
                                      {{"user", "admin"}, {"port", "1"}}};
  }

  std::optional<std::vector<nomad::templates::VariableMeta>> variables(
      const nomad::templates::VariableListQuery& query) override {
    return std::vector<nomad::templates::VariableMeta>{
        {.name_space = "default", .path = query.prefix}};
  }

  nomad::Result<std::optional<std::string>> file(const nomad::templates::FileQuery&) override {
    return std::optional<std::string>{"a: 1\nb: [x, y]\n"};
  }

  std::optional<std::string> environment(std::string_view name) override {
    return std::string{name};
  }

  std::int64_t now() override { return 1'700'000'000'000'000'000; }

  nomad::Result<std::string> address(std::string_view text) override { return std::string{text}; }

  std::string random(std::size_t bytes) override { return std::string(bytes, '\x07'); }
};

inline constexpr nomad::templates::Limits template_limits{
    .steps = 20'000, .output = 1U << 16U, .made = 1U << 20U, .depth = 100};

}  // namespace fuzz
