#include "runtime/query/page.hpp"

#include "runtime/base/whole_number.hpp"

namespace nomad::query {

std::string CreateToken::make(std::uint64_t create_index, std::string_view id) {
  return std::to_string(create_index) + '.' + std::string{id};
}

std::optional<CreateToken> CreateToken::parse(std::string_view token) {
  const auto dot = token.find('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  CreateToken parsed;
  if (!read_whole_number(token.substr(0, dot), parsed.create_index)) return std::nullopt;
  parsed.id = token.substr(dot + 1);
  return parsed;
}

std::string NameToken::make(std::string_view ns, std::string_view id) {
  return std::string{ns} + '.' + std::string{id};
}

NameToken NameToken::parse(std::string_view token) {
  const auto dot = token.find('.');
  if (dot == std::string_view::npos) return {std::string{token}, ""};
  return {std::string{token.substr(0, dot)}, std::string{token.substr(dot + 1)}};
}

}  // namespace nomad::query
