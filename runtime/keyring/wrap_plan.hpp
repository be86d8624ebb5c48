// Which wraps a root key's row is to have: for servers, for whoever knows `server.encrypt`, and of
// wrapping keys outside of the cluster. Names in, names out: nothing is wrapped here.
//
// (1) Whoever leads decides which wrapping key and which secret count, and only he drops wraps of
//     others: servers that are configured differently do not undo each other's work.
// (2) Each holder has a wrap that it can open: of a wrapping key that it says it can use, else one
//     of its own.
// (3) Whoever knows the secret has one, unless wrapping keys serve all holders.
// (4) What is planned is planned again from the row that comes of it: nothing changes then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nomad::keyring {

/// A wrap's recipient is named by its first word.
bool is_of_wrapping_key(std::string_view recipient);  ///< "keyring file 1f0e…"
bool is_of_secret(std::string_view recipient);        ///< "encrypt 1f0e…"

/// A server, as its row has it.
struct Holder {
  std::string recipient;                ///< Of a wrap by its public key.
  std::vector<std::string> opens = {};  ///< The wrapping keys that it can use.
};

struct WrapFacts {
  std::vector<std::string> row = {};  ///< The recipients of the wraps that there are, in order.
  std::vector<Holder> holders = {};
  std::string secret = {};        ///< The recipient of this server's `encrypt`; "": it has none.
  std::string wrapping_key = {};  ///< Of this server, which wraps; "": there is none.
  bool has_wrapped = false;       ///< It has just made its wrap, for the row to have.
  bool leads = false;
};

struct PlannedWrap {
  enum class From : std::uint8_t { row, wrapping_key, public_key, secret };

  std::string recipient;
  From from = From::row;
  std::size_t holder = 0;  ///< Whose public key: a position in the facts.

  friend bool operator==(const PlannedWrap&, const PlannedWrap&) = default;
};

struct WrapPlan {
  std::vector<PlannedWrap> wraps = {};
  bool changes = false;  ///< The row has others.
};

WrapPlan plan_wraps(const WrapFacts& facts);

}  // namespace nomad::keyring
