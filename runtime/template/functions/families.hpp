// The families of functions, each in a source and a namespace of its own. Part of library.cpp;
// nobody else asks.
#pragma once

#include <span>

#include "runtime/template/eval/context.hpp"

namespace nomad::templates {

// Of consul-template.

namespace text_family {
std::span<const Function> functions();
}

namespace data_family {
std::span<const Function> functions();

/// `json` and `toJSON` of nomadctl's -t.
std::span<const Function> cli_functions();
}  // namespace data_family

namespace math_family {
std::span<const Function> functions();
}

namespace source_family {
std::span<const Function> functions();
}

namespace scratch_family {
std::span<const Function> functions();
}

// Of sprig, with their prefix "sprig_".

namespace sprig_text_family {
std::span<const Function> functions();
}

namespace sprig_list_family {
std::span<const Function> functions();
}

namespace sprig_map_family {
std::span<const Function> functions();
}

namespace sprig_number_family {
std::span<const Function> functions();
}

namespace sprig_date_family {
std::span<const Function> functions();
}

namespace sprig_other_family {
std::span<const Function> functions();
}

namespace sprig_version_family {
std::span<const Function> functions();
}

namespace sprig_url_family {
std::span<const Function> functions();
}

namespace sprig_crypto_family {
std::span<const Function> functions();
}

namespace sprig_random_family {
std::span<const Function> functions();
}

}  // namespace nomad::templates
