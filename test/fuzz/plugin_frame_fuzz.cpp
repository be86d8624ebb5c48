// What the process of a plugin sends: whatever the bytes and however they are cut, nothing but
// errors comes of it, and what was taken for a frame can be read, judged and sent on.
#include "runtime/object/draft.hpp"
#include "runtime/plugin/declared.hpp"
#include "runtime/plugin/frames.hpp"
#include "runtime/plugin/plugin_file.hpp"
#include "runtime/plugin/said.hpp"
#include "test/fuzz/input.hpp"

using namespace nomad;

namespace {

/// What an event says is passed on as one line, whatever it was.
void shown(schema::plugin::Notice::Reader notice) {
  if (!notice.isEvent()) return;
  Draft<schema::plugin::Notice> draft{notice};
  plugin::clean_event(draft->getEvent(), 1);
  const auto message = view(draft.reader().getEvent().getMessage());
  fuzz::require(message.find('\n') == std::string_view::npos, "a message is one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  plugin::FrameSplitter splitter;
  // The first byte says how the rest is cut.
  const std::size_t step = size == 0 ? 1 : std::size_t{data[0]} + 1;
  bool goes_on = true;
  for (std::size_t at = 1; at < size && goes_on; at += step)
    goes_on = splitter
                  .add(bytes.substr(at, step),
                       [](const plugin::Frame& frame, std::size_t) {
                         std::string again;
                         if (plugin::append_frame(again, frame))
                           fuzz::require(!again.empty(), "a frame that was taken can be sent on");
                         if (frame->isDeclaration())
                           static_cast<void>(
                               plugin::check_declaration(frame->getDeclaration(), "fuzz"));
                         if (frame->isFacts())
                           static_cast<void>(plugin::read_facts(frame->getFacts().getAttributes()));
                         if (frame->isHookNotice()) shown(frame->getHookNotice().getNotice());
                         if (frame->isDriverNotice()) shown(frame->getDriverNotice());
                         static_cast<void>(frame->totalSize());
                       })
                  .has_value();
  static_cast<void>(plugin::check_mark(bytes, "abi", "compiler"));
  return 0;
}
