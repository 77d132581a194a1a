// builtin.module(iree-stream-emplace-allocations)

// Dispatch to update.
stream.executable private @e { stream.executable.export public @f }
util.func public @a(%x: !stream.resource<*>, %tg: !stream.resource<*>, %n: index, %m: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %0 = stream.async.dispatch @e::@f[%n](%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%c16}
  %1 = stream.async.update %0, %tg[%c16 to %c32] : !stream.resource<*>{%c16} -> %tg as !stream.resource<*>{%m}
  util.return %1 : !stream.resource<*>
}

// -----

// Two updates.
stream.executable private @e { stream.executable.export public @f }
util.func public @a(%x: !stream.resource<*>, %n: index, %m: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %tg = stream.async.alloca : !stream.resource<*>{%c32}
  %0 = stream.async.dispatch @e::@f[%n](%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%c16}
  %1 = stream.async.update %0, %tg[%c0 to %c16] : !stream.resource<*>{%c16} -> %tg as !stream.resource<*>{%c32}
  %2 = stream.async.dispatch @e::@f[%n](%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%c16}
  %3 = stream.async.update %2, %1[%c16 to %c32] : !stream.resource<*>{%c16} -> %1 as !stream.resource<*>{%c32}
  util.return %3 : !stream.resource<*>
}

// -----

// Splat target, affinity.
util.global private @d : !hal.device
stream.executable private @e { stream.executable.export public @f }
util.func public @a(%x: !stream.resource<*>, %n: index, %m: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %v = arith.constant 0 : i8
  %tg = stream.async.splat on(#hal.device.affinity<@d>) %v : i8 -> !stream.resource<*>{%c32}
  %0 = stream.async.dispatch on(#hal.device.affinity<@d>) @e::@f[%n](%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%c16}
  %1 = stream.async.update on(#hal.device.affinity<@d>) %0, %tg[%c0 to %c16] : !stream.resource<*>{%c16} -> %tg as !stream.resource<*>{%c32}
  util.return %1 : !stream.resource<*>
}

// -----

// Result used twice.
stream.executable private @e { stream.executable.export public @f }
util.func public @a(%x: !stream.resource<*>, %tg: !stream.resource<*>, %n: index, %m: index) -> (!stream.resource<*>, !stream.resource<*>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %0 = stream.async.dispatch @e::@f[%n](%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%c16}
  %1 = stream.async.update %0, %tg[%c16 to %c32] : !stream.resource<*>{%c16} -> %tg as !stream.resource<*>{%m}
  util.return %1, %0 : !stream.resource<*>, !stream.resource<*>
}

// -----

// Target used before and operand.
stream.executable private @e { stream.executable.export public @f }
util.func public @a(%tg: !stream.resource<*>, %n: index, %m: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %0 = stream.async.dispatch @e::@f[%n](%tg[%c0 to %n for %n]) : (!stream.resource<*>{%m}) -> !stream.resource<*>{%c16}
  %1 = stream.async.update %0, %tg[%c16 to %c32] : !stream.resource<*>{%c16} -> %tg as !stream.resource<*>{%m}
  util.return %1 : !stream.resource<*>
}

// -----

// Offset defined later.
stream.executable private @e { stream.executable.export public @f }
util.func public @a(%x: !stream.resource<*>, %tg: !stream.resource<*>, %n: index, %m: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %0 = stream.async.dispatch @e::@f[%n](%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%c16}
  %o = arith.muli %n, %m : index
  %p = arith.addi %o, %c16 : index
  %1 = stream.async.update %0, %tg[%o to %p] : !stream.resource<*>{%c16} -> %tg as !stream.resource<*>{%m}
  util.return %1 : !stream.resource<*>
}
