// How variables are shown and read: what the endpoints of variables and of their locks share.
// Whatever holds a variable's items in the clear is wiped: the parsed body, the items, the answer.
// Tests: variable_test, variable_lock_test.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "actors/api/http/call.hpp"
#include "actors/api/http/json_out.hpp"
#include "runtime/security/keyring.hpp"

namespace nomad::api {

using VariableRef = Object<schema::Variable>;

/// Who knows a lock's id can write the variable: it is shown to its holder, and to who may do
/// anything.
enum class ShownLock : std::uint8_t { no, yes };

ShownLock lock_shown_to(const access::Principal& who, schema::Variable::Reader variable);

/// Metadata alone, as lists and answers about locks have it.
void append_variable(JsonObject& object, schema::Variable::Reader variable, ShownLock lock);

/// `items` null: there is nothing to show.
Answer variable_answer(unsigned status,
                       schema::Variable::Reader variable,
                       const security::Items* items,
                       ShownLock lock);

/// The answer with the variable's items, opened with `key`.
Answer opened_answer(security::Keyring& keyring,
                     const Object<schema::RootKey>& key,
                     unsigned status,
                     const VariableRef& variable,
                     ShownLock lock);

/// A check-and-set was lost to `variable`, whose items are for those who may read it.
Answer conflict_answer(const Context& context,
                       security::Keyring& keyring,
                       const access::Asking& asking,
                       const VariableRef& variable);

/// What a request says of a variable's lock.
struct AskedLock {
  std::string id;
  std::chrono::nanoseconds ttl{};
  std::chrono::nanoseconds delay{};
};

/// A variable as a request brings it.
struct VariableBody {
  std::string ns;  ///< "" where it says none.
  std::optional<AskedLock> lock;
  std::size_t items = 0;
  std::size_t item_bytes = 0;
  security::Secret encoded;  ///< The items, as they are to be sealed.
};

Result<VariableBody> read_variable(const net::Request& request);

}  // namespace nomad::api
