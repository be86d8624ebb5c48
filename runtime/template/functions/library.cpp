#include "runtime/template/functions/library.hpp"

#include "runtime/template/functions/families.hpp"

namespace nomad::templates {
namespace {

void add_sprig(Functions& functions) {
  for (const auto family : {sprig_text_family::functions(), sprig_list_family::functions(),
                            sprig_map_family::functions(), sprig_number_family::functions(),
                            sprig_date_family::functions(), sprig_other_family::functions(),
                            sprig_version_family::functions(), sprig_url_family::functions(),
                            sprig_random_family::functions(), sprig_crypto_family::functions()})
    functions.add(family);
}

}  // namespace

Functions task_functions(std::span<const std::string> denied) {
  Functions out = Functions::go();
  for (const auto family :
       {text_family::functions(), data_family::functions(), math_family::functions(),
        source_family::functions(), scratch_family::functions()})
    out.add(family);
  add_sprig(out);
  for (const std::string& name : denied)
    out.deny(name);
  return out;
}

const Functions& cli_functions() {
  static const Functions functions = [] {
    Functions out = Functions::go();
    out.add(data_family::cli_functions());
    add_sprig(out);
    return out;
  }();
  return functions;
}

}  // namespace nomad::templates
