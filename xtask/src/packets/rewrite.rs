//! Assembly text of kernels for an emulator without floating-point vector instructions.
//!
//! Each of them becomes an integer instruction with the same operands, in the same packet, so that as many packets,
//! instructions and vector instructions are executed as before. What is computed is nonsense. An instruction that is
//! not known here is an error: a wrong guess would be counted without a sound.

use std::fmt::Write;

use anyhow::{bail, Context, Result};

/// Types of the vector operands that the emulator cannot compute with.
const FLOAT_TYPES: [&str; 6] = ["qf32", "qf16", "sf", "hf", "bf", "f8"];

/// Operations on such operands; "" is a conversion without a name, as in `v0.sf = v1.qf32`.
const FLOAT_OPERATIONS: [&str; 13] =
    ["", "vadd", "vsub", "vmpy", "vmax", "vmin", "vfmax", "vfmin", "vabs", "vfneg", "vcvt", "vcmp.gt", "vcmp.eq"];

/// The text of a file with all float vector instructions replaced.
pub fn to_integers(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.lines().enumerate() {
        let rewritten = line_to_integers(line).with_context(|| format!("line {}: {}", number + 1, line.trim()))?;
        match rewritten {
            Some(new) => writeln!(out, "{new}")?,
            None => writeln!(out, "{line}")?,
        }
    }
    Ok(out)
}

/// A line with its instruction replaced; `None` when it can stay as it is.
fn line_to_integers(line: &str) -> Result<Option<String>> {
    let code = line.split("//").next().unwrap_or("");
    let instruction = code.trim_start_matches(|c: char| c.is_whitespace() || c == '{');
    // What comes behind the instruction when the packet ends on the same line.
    let (body, end) = instruction.split_at(instruction.find('}').unwrap_or(instruction.len()));
    if body.starts_with('.') || !names_float(body) {
        return Ok(None);
    }
    let start = &code[..code.len() - instruction.len()];
    let new = Instruction::parse(body.trim())?.as_integer()?;
    Ok(Some(format!("{start}{new} {end}").trim_end().to_owned()))
}

/// Whether an operand has one of the float types.
fn names_float(body: &str) -> bool {
    body.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .filter_map(|word| word.split_once('.'))
        .any(|(register, kind)| is_register(register) && FLOAT_TYPES.contains(&kind))
}

fn is_register(name: &str) -> bool {
    // The part in front of the type of `v5:4.qf32` is the 4.
    name.trim_start_matches(['v', 'r', 'q']).bytes().all(|b| b.is_ascii_digit()) && !name.is_empty()
}

/// What sort of register an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Vector,
    Pair,
    Predicate,
    Scalar,
}

/// A register, without the type that it is used as.
#[derive(Debug)]
struct Operand<'a> {
    kind: Kind,
    name: &'a str,
}

impl<'a> Operand<'a> {
    fn parse(text: &'a str) -> Result<Operand<'a>> {
        let name = text.trim().split('.').next().unwrap_or("");
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let kind = match (name.get(..1), name.get(1..)) {
            (Some("v"), Some(number)) if digits(number) => Kind::Vector,
            (Some("v"), Some(pair)) if pair.split_once(':').is_some_and(|(a, b)| digits(a) && digits(b)) => Kind::Pair,
            (Some("q"), Some(number)) if digits(number) => Kind::Predicate,
            (Some("r"), Some(number)) if digits(number) => Kind::Scalar,
            _ => bail!("not a register: {text}"),
        };
        Ok(Operand { kind, name })
    }

    /// The two vectors of a pair, high and low.
    fn halves(&self) -> Option<(String, String)> {
        let (high, low) = self.name.strip_prefix('v')?.split_once(':')?;
        Some((format!("v{high}"), format!("v{low}")))
    }
}

/// `dst.type = operation(source.type,...)`, or with another assignment.
#[derive(Debug)]
struct Instruction<'a> {
    dst: Operand<'a>,
    assignment: &'a str,
    operation: &'a str,
    sources: Vec<Operand<'a>>,
}

impl<'a> Instruction<'a> {
    fn parse(text: &'a str) -> Result<Instruction<'a>> {
        let (left, right) = text.split_once(" = ").or_else(|| text.split_once("= ")).context("no assignment")?;
        let (dst, assignment) = match left.split_once(' ') {
            Some((dst, operator)) => (dst, operator),
            None => (left, ""),
        };
        let (operation, arguments) = match right.split_once('(') {
            Some((operation, rest)) => (operation.trim(), rest.split(')').next().unwrap_or("")),
            // A rounding mode behind a conversion decides nothing here.
            None => ("", right.strip_suffix(":rnd").unwrap_or(right)),
        };
        let sources = arguments.split(',').map(Operand::parse).collect::<Result<_>>()?;
        Ok(Instruction { dst: Operand::parse(dst)?, assignment, operation, sources })
    }

    /// The integer instruction that stands for this one: it takes and gives registers of the same kinds, and fits
    /// every packet that this one fits.
    fn as_integer(&self) -> Result<String> {
        use Kind::{Pair, Predicate, Scalar, Vector};
        if !FLOAT_OPERATIONS.contains(&self.operation) {
            bail!("no integer instruction is known to stand for `{}`", self.operation);
        }
        let kinds: Vec<Kind> = self.sources.iter().map(|source| source.kind).collect();
        let d = self.dst.name;
        let source = |i: usize| self.sources.get(i).map_or("", |operand| operand.name);
        let (a, b) = (source(0), source(1));
        Ok(match (self.dst.kind, self.assignment, kinds.as_slice()) {
            (Vector, "", [Vector]) => format!("{d}.w = vabs({a}.w)"),
            (Vector, "", [Vector, Vector]) if self.operation == "vcvt" => format!("{d}.h = vpacke({a}.w,{b}.w)"),
            (Vector, "", [Vector, Vector]) => format!("{d}.w = vadd({a}.w,{b}.w)"),
            (Vector, "", [Vector, Scalar]) => format!("{d}.w = vasr({a}.w,{b})"),
            (Vector, "", [Pair]) => {
                let (high, low) = self.sources[0].halves().context("not a pair")?;
                format!("{d}.w = vadd({high}.w,{low}.w)")
            }
            (Vector, "+", [Vector, Vector]) => format!("{d}.w += vrmpy({a}.b,{b}.b)"),
            (Pair, "", [Vector]) => format!("{d}.w = vunpack({a}.h)"),
            (Pair, "", [Vector, Vector]) => format!("{d}.w = vmpy({a}.h,{b}.h)"),
            (Pair, "+", [Vector, Vector]) => format!("{d}.w += vmpy({a}.h,{b}.h)"),
            (Predicate, "" | "&" | "|" | "^", [Vector, Vector]) => {
                format!("{d} {}= vcmp.gt({a}.w,{b}.w)", self.assignment)
            }
            _ => bail!("no integer instruction is known with these operands"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> String {
        to_integers(line).expect("a known instruction").trim_end().to_owned()
    }

    #[test]
    fn instructions_of_every_shape() {
        for (float, integer) in [
            ("v0.qf32 = vmpy(v1.sf,v2.sf)", "v0.w = vadd(v1.w,v2.w)"),
            ("v0.qf32 = vsub(v1.qf32,v31.sf)", "v0.w = vadd(v1.w,v31.w)"),
            ("v0.sf = v1.qf32", "v0.w = vabs(v1.w)"),
            ("v0.sf = v1.w", "v0.w = vabs(v1.w)"),
            ("v0.w = v1.sf", "v0.w = vabs(v1.w)"),
            ("v0.h = v1.hf:rnd", "v0.w = vabs(v1.w)"),
            ("v0.sf = vabs(v1.sf)", "v0.w = vabs(v1.w)"),
            ("v1:0.qf32 = vmpy(v2.hf,v3.hf)", "v1:0.w = vmpy(v2.h,v3.h)"),
            ("v1:0.sf += vmpy(v2.hf,v3.hf)", "v1:0.w += vmpy(v2.h,v3.h)"),
            ("v1:0.sf = vcvt(v2.hf)", "v1:0.w = vunpack(v2.h)"),
            ("v0.hf = v3:2.qf32", "v0.w = vadd(v3.w,v2.w)"),
            ("v0.hf = vcvt(v1.sf,v2.sf)", "v0.h = vpacke(v1.w,v2.w)"),
            ("v0.qf16 = vmpy(v1.hf,r2.hf)", "v0.w = vasr(v1.w,r2)"),
            ("v0.hf += vmpy(v1.hf,v2.hf)", "v0.w += vrmpy(v1.b,v2.b)"),
            ("q0 = vcmp.gt(v1.sf,v2.sf)", "q0 = vcmp.gt(v1.w,v2.w)"),
            ("q3 |= vcmp.gt(v1.hf,v2.hf)", "q3 |= vcmp.gt(v1.w,v2.w)"),
        ] {
            assert_eq!(rewritten(float), integer);
        }
    }

    #[test]
    fn packets_keep_their_form() {
        assert_eq!(rewritten("\t\tv0.sf = v1.qf32"), "\t\tv0.w = vabs(v1.w)");
        assert_eq!(rewritten("\t{ v0.sf = v1.qf32 }  // why"), "\t{ v0.w = vabs(v1.w) }");
        assert_eq!(rewritten("\t\tv0.sf = v1.qf32 } :endloop0"), "\t\tv0.w = vabs(v1.w) } :endloop0");
    }

    #[test]
    fn all_else_stays() {
        for line in [
            "\t\tvmem(r3+#0) = v4.new",
            "\t\tv0.w = vadd(v1.w,v2.w)",
            "\t\tr0 = sfmpy(r1,r2)",
            "\t.section\t.text.hf,\"ax\"",
            ".Lv1.sf:                               // v0.sf = v1.qf32",
            "\t\tcall ##name.sf",
        ] {
            assert_eq!(rewritten(line), line);
        }
    }

    #[test]
    fn an_unknown_instruction_is_an_error() {
        for line in ["v0.sf = vnew(v1.sf)", "v0.sf = vadd(v1.sf,v2.sf,v3.sf)", "v1:0.qf32 = vadd(v3:2.sf,v5:4.sf)"] {
            let error = to_integers(&format!("nop\n{line}\n")).expect_err("not known");
            assert!(format!("{error:#}").contains("line 2"), "{error:#}");
        }
    }
}
