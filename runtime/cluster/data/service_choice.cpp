#include "runtime/cluster/data/service_choice.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <sodium/crypto_generichash.h>

#include "runtime/base/whole_number.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::cluster {
namespace {

using Hash = std::array<unsigned char, crypto_generichash_BYTES_MIN>;

Hash hash_of(std::string_view key, std::string_view id) {
  std::string both{key};
  both.append(1, '\0').append(id);
  Hash hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(both.data()),
                     both.size(), nullptr, 0);
  return hash;
}

}  // namespace

Result<std::optional<Choice>> parse_choice(std::string_view parameter) {
  if (parameter.empty()) return std::optional<Choice>{};
  Choice choice;
  const auto bar = parameter.find('|');
  if (bar == parameter.npos || bar + 1 == parameter.size()
      || !read_whole_number(parameter.substr(0, bar), choice.number))
    return Error{Errc::invalid_argument,
                 "failed to choose services: Parameter for choose must be in form "
                 "'<number>|<key>'"};
  choice.key = parameter.substr(bar + 1);
  return std::optional{std::move(choice)};
}

std::vector<ServiceRef> choose(std::vector<ServiceRef> services, const Choice& choice) {
  std::vector<std::pair<Hash, ServiceRef>> ordered;
  ordered.reserve(services.size());
  for (auto& service : services) {
    const auto hash = hash_of(choice.key, view(service->getId()));
    ordered.emplace_back(hash, std::move(service));
  }
  std::ranges::sort(ordered, {}, [](const auto& entry) { return entry.first; });
  services.clear();
  for (std::size_t i = 0; i < std::min(choice.number, ordered.size()); ++i)
    services.push_back(std::move(ordered[i].second));
  return services;
}

}  // namespace nomad::cluster
