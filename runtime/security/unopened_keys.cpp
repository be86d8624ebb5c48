#include "runtime/security/unopened_keys.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/keyring/wrap_plan.hpp"

namespace nomad::security {
namespace {

std::string what_opens_wrap(std::string_view recipient) {
  if (keyring::is_of_secret(recipient)) return "their `encrypt`";
  if (!keyring::is_of_wrapping_key(recipient))
    return "<data_dir>/server/keystore/holder.key of a server that it was saved on";
  const auto words = split(recipient, ' ');  // "keyring", the provider, and what tells keys apart
  return fmt::format("the wrapping key of their `keyring {}` block",
                     quote(words.size() > 1 ? words[1] : ""));
}

}  // namespace

std::vector<std::string> what_opens(schema::RootKey::Reader key) {
  std::vector<std::string> out;
  for (const auto wrap : key.getWraps()) {
    auto one = what_opens_wrap(view(wrap.getRecipient()));
    if (std::ranges::find(out, one) == out.end()) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace nomad::security
