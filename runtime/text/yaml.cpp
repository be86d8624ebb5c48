#include "runtime/text/yaml.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/base/text.hpp"

namespace nomad {
namespace {

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view{} : reinterpret_cast<const char*>(text);
}

const yaml_char_t* bytes_of(const char* text) {
  return reinterpret_cast<const yaml_char_t*>(text);
}

}  // namespace

std::string_view YamlEvent::anchor() const {
  switch (type()) {
    case YAML_ALIAS_EVENT:
      return view(event_.data.alias.anchor);
    case YAML_SCALAR_EVENT:
      return view(event_.data.scalar.anchor);
    case YAML_SEQUENCE_START_EVENT:
      return view(event_.data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
      return view(event_.data.mapping_start.anchor);
    default:
      return {};
  }
}

std::string_view YamlEvent::tag() const {
  switch (type()) {
    case YAML_SCALAR_EVENT:
      return view(event_.data.scalar.tag);
    case YAML_SEQUENCE_START_EVENT:
      return view(event_.data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
      return view(event_.data.mapping_start.tag);
    default:
      return {};
  }
}

std::string_view YamlEvent::text() const {
  return {reinterpret_cast<const char*>(event_.data.scalar.value), event_.data.scalar.length};
}

YamlParser::YamlParser(std::string_view text) {
  if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc{};
  yaml_parser_set_input_string(&parser_, bytes_of(text.data()), text.size());
}

YamlParser::~YamlParser() {
  yaml_parser_delete(&parser_);
}

bool YamlParser::next(YamlEvent& event) {
  return yaml_parser_parse(&parser_, &event.event_) != 0;
}

std::string_view YamlParser::problem() const {
  return parser_.problem == nullptr ? std::string_view{} : parser_.problem;
}

yaml_mark_t YamlParser::problem_mark() const {
  yaml_mark_t mark = parser_.problem_mark;
  if (mark.line == 0) return parser_.context_mark;
  if (parser_.error == YAML_SCANNER_ERROR) {
    ++mark.line;
    mark.column = 0;
  }
  return mark;
}

YamlEmitter::YamlEmitter(std::size_t limit) : limit_{limit} {
  if (yaml_emitter_initialize(&emitter_) == 0) throw std::bad_alloc{};
  yaml_emitter_set_output(&emitter_, &YamlEmitter::write, this);
  yaml_emitter_set_unicode(&emitter_, 1);
}

YamlEmitter::~YamlEmitter() {
  yaml_emitter_delete(&emitter_);
}

int YamlEmitter::write(void* self, unsigned char* bytes, std::size_t size) {
  auto& emitter = *static_cast<YamlEmitter*>(self);
  if (size > emitter.limit_ - emitter.out_.size()) return 0;
  emitter.out_.append(reinterpret_cast<const char*>(bytes), size);
  return 1;
}

Result<void> YamlEmitter::emit(yaml_event_t& event, int made) {
  if (made == 0) return Error{Errc::invalid_argument, "yaml: invalid value"};
  if (yaml_emitter_emit(&emitter_, &event) != 0) return {};
  if (emitter_.error == YAML_WRITER_ERROR)
    return Error{Errc::too_large, "yaml: the text is too long"};
  const char* problem = emitter_.problem;
  return Error{Errc::invalid_argument,
               std::string{"yaml: "}
                   + (problem == nullptr ? "unknown problem generating YAML content" : problem)};
}

Result<void> YamlEmitter::begin() {
  yaml_event_t event;
  NOMAD_TRY(emit(event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)));
  return emit(event, yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1));
}

Result<void> YamlEmitter::scalar(std::string_view text,
                                 yaml_scalar_style_t style,
                                 const char* tag) {
  yaml_event_t event;
  const int implicit = tag == nullptr ? 1 : 0;
  return emit(event, yaml_scalar_event_initialize(
                         &event, nullptr, bytes_of(tag), bytes_of(text.data()),
                         static_cast<int>(text.size()), implicit, implicit, style));
}

Result<void> YamlEmitter::begin_sequence() {
  yaml_event_t event;
  return emit(event, yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1,
                                                          YAML_BLOCK_SEQUENCE_STYLE));
}

Result<void> YamlEmitter::end_sequence() {
  yaml_event_t event;
  return emit(event, yaml_sequence_end_event_initialize(&event));
}

Result<void> YamlEmitter::begin_mapping() {
  yaml_event_t event;
  return emit(event, yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1,
                                                         YAML_BLOCK_MAPPING_STYLE));
}

Result<void> YamlEmitter::end_mapping() {
  yaml_event_t event;
  return emit(event, yaml_mapping_end_event_initialize(&event));
}

Result<std::string> YamlEmitter::finish() {
  yaml_event_t event;
  NOMAD_TRY(emit(event, yaml_document_end_event_initialize(&event, 1)));
  emitter_.open_ended = 0;
  NOMAD_TRY(emit(event, yaml_stream_end_event_initialize(&event)));
  return std::move(out_);
}

YamlWord yaml_word(std::string_view text) {
  static constexpr std::pair<YamlWord, std::string_view> words[]
      = {{YamlWord::null, "|~|null|Null|NULL|"},
         {YamlWord::yes, "|y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|"},
         {YamlWord::no, "|n|N|no|No|NO|false|False|FALSE|off|Off|OFF|"},
         {YamlWord::infinity, "|.inf|.Inf|.INF|+.inf|+.Inf|+.INF|"},
         {YamlWord::minus_infinity, "|-.inf|-.Inf|-.INF|"},
         {YamlWord::not_a_number, "|.nan|.NaN|.NAN|"}};
  if (text.empty()) return YamlWord::null;
  if (text.find('|') != std::string_view::npos) return YamlWord::none;
  const std::string wanted = '|' + std::string{text} + '|';
  for (const auto& [word, spellings] : words)
    if (spellings.find(wanted) != std::string_view::npos) return word;
  return YamlWord::none;
}

bool is_yaml_float(std::string_view text) {
  const auto take = [&text](std::string_view set) {
    const bool is_there = !text.empty() && set.find(text[0]) != std::string_view::npos;
    if (is_there) text.remove_prefix(1);
    return is_there;
  };
  const auto take_digits = [&text] {
    const std::size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(size);
    return size > 0;
  };
  take("+-");
  const bool has_whole = take_digits();
  const bool has_fraction = take(".") && take_digits();
  if (!has_whole && !has_fraction) return false;
  if (take("eE")) {
    take("+-");
    if (!take_digits()) return false;
  }
  return text.empty();
}

}  // namespace nomad
