// Filter expressions: whatever the text, compiling and matching end, in an answer or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/object/draft.hpp"
#include "runtime/query/filter.hpp"
#include "schema/node.capnp.h"

namespace {

nomad::Object<nomad::schema::Node> make_row() {
  nomad::Draft<nomad::schema::Node> draft;
  draft->setId("1e3c");
  draft->setName("client-1");
  draft->initAttributes(1)[0].setKey("kernel.name");
  draft->initEvents(2)[0].setMessage("Node registered");
  return draft.freeze();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto row = make_row();
  const auto filter = nomad::query::Filter::compile({reinterpret_cast<const char*>(data), size});
  if (filter) static_cast<void>(filter->matches(*row).has_value());
  return 0;
}
