// As standard.hpp, with Cap'n Proto and what the schema generates: for the folders that handle
// objects. A change of one of these schemas builds all of
// them anew; the others are cheap to parse, and change more often.
#include <capnp/any.h>
#include <capnp/dynamic.h>
#include <capnp/message.h>
#include <capnp/schema.h>
#include <capnp/serialize.h>

#include "runtime/pch/standard.hpp"
#include "schema/alloc.capnp.h"
#include "schema/common.capnp.h"
#include "schema/deployment.capnp.h"
#include "schema/eval.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"
