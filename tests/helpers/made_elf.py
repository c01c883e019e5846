"""Small real programs and libraries, made by the system's own compiler; device code from recorded images."""

import base64
import textwrap
from collections.abc import Sequence
from pathlib import Path

from ci.process import find_tool, run

SOUND = ("-Wl,-z,relro,-z,now", "-Wl,-rpath,$ORIGIN", "-s")
"""Linked as we promise: full RELRO, run path, stripped."""

IMAGES = {
    "sm_75": (
        "Q0-N^0RRvH2m$~A000000ssL4KmY&$$N>NV00000!~p;R000002mk>9O8@`>00000000005r6;y000000000000000xCH<J00000"
        "D77#BV7LU;4FI;2NH0)#4g-vlnX(i1$Sga~WACnNQ8st?ZrZk!9~$O&RnJk;+0>T~p0P2{v%HB+0XhIW06YLGRkdTV)Lpf%SKqOA"
        "tKDt)%T#SEM%mf^6z_14Tk-zSPx#D_fB8({MS#&)f<Axm$2T=OkDrmJ7XAJINBw{0^N;_+E=OxZosfz2F96~U1Dc5jFy)hsZ(UbU"
        "`Ce7{opran@Y{Mh%vx9eD$C&&%7O)&b!dtOWn<k+VeWVcdY%@FB!W3NtUh2g)vDD6+q~u6Cf%UyGosa)tGW@duG=+VT`%jVnyX-("
        "kGU+_e7_8sf8Z5prq*SY1myk=m3r(M1K5oM#shOnVV0vTpT@+m@cEV@^H<7WAY$Q=_(hboy@(8&dQu5ws4=*wq_7~VQ5X&|OPjPB"
        "5-JcX3y>m2=!gjtCCjK!sX5#?+0e|<JX0Yncb5ir9!L}jkrNYC`j#8ucJP`Yim&G75`Kyf3_OP8{Y*)g{FJz<qvVxx_g;>1k{Kuo"
        "n%Q97!WW*h0(*{IH5rK>re!ZW6x)q=J)`09(Ads@K=HXJy`&*&H@5#ol!l1*mLPNr00000"
    ),
    "sm_120": (
        "Q0-N^0RRvH=mG!$000000ssL4cmMzZZ~_1T00000YXSfOKmY&$2mk>9cmMzZ00000000005r6;z000000000000000v<LtI00000"
        "NB{r;C;$Ke00IdB00ImE00II500RvH0RsmC0RjU600avN08jt`0000000Ry{1ONa400000D77#BV6+Df695KSSuHSmF{dRL76w!W"
        "5Me>DFu;iZBrf@|53SCL?m?q;i4;<nn|g(3#?p{#lf6?)08Ic)0CryAdUbBw?drYm-S|xY`DS>Hhtuuyk0;wZ&XeE1>%2zWd@`GM"
        "2j!R5d%o*8UH)%>@$<j$`C0Hl0DSoNqwhWpYFoF2A_)U~y~D*d%_n-j2JXEWXW)J>$3-#dG&;Fd|AT4r@P%b;0?ZXcM8F9A+v+uL"
        "SJM`nPLWddk4MvQ*=@a6!{yt)TeIB0Ex+8>?Odh>ZHsunbr0@8!EIamJwEWI!m)-E-;~&bxzM*B-)4DDc?+G%bT*jFCnM)}C8uXG"
        "ZHM!PzLSw%@nj=sF0rlG_Rh}ZiN3?}J?7!Kv!I2Y@Ie509a1>1BA*5TmDp4+io<q(y*W7cw6K>fjI8%P^h|IduFf6+b0B$B3wgk<"
        "66!W^Dnr{Q=2v{edc}VB0dwO0)x!qB;0=JCsKLA>A_YmxNTmbtN@m76aw!a?6gWeKh7u-FB4Uz~;)0aMMF2c9Dn{&`UIoOAT>U*n"
        "pl5h_!CC3@dYkGimmHA2%#7e@^1YLVae257cbEaWI%Dd2di>I{hxM;mgKe(a7Zv->QKB<O<{SKE7WvS;5LidZfk+(Q`nK+OI~J?z"
        "LNQ9mR3`&uz)w8RxIImDoyw!?Eps9rjHLuqN*vZ#6{+$<fSY~#+{`kZ1swr;7eLZ!htVYKgP?k4Uhh&GG2NMJ;y4~|dvoa0GLtUa"
        "k8=i4IP=0yO66tQZ(}QFdov5Y2ZJ8rM}Q_B0LP(FGQ24O00000"
    ),
    "sm_120a": (
        "Q0-N^0RRvH@B#n;000000ssL4cmMzZcme<b00000asmJVKmY&$2mk>9cmMzZ00000000005r7Z@000000000000000ya)gQ00000"
        "NB{r;C;$Ke00IdC00ImE00II500RvH0RsmC0RjU600avN08jt`0000000Ry{1ONa400000D77#BV7v!K699(TS~@UuGX@Vgj5-+P"
        "M1n3Xtc4OUM%s35-Gso>GCGD#+)D02`P)_O_jxyxw{vbl9`yeEKC6nRS8kaCMgU6yNdQ-+cV>-wr+i;7^9YLFb+tNi6?!Y>b%j@#"
        "VtB8?yjM7-g`!m;%RNdicS*9y`_G%soxb9n=&!7vKCg4^6=P1U<Ab9mHWa-wf1b^%md45aD#w$F5%zJ58WzK2!=ohRAMwx(T%g9L"
        "GVUQ@L1X}MI?3#P8EY7WaDZS}i1D>jldF|@K@F00TZ5WwYf|rYP6GOgVgCU38Gy}+smx!rr`|?PSkS>{4FZKh(z3dp9j@VRqmY0="
        "S!{RfhmAX{`n*=gDYjc;8zk<AvYO2L)7v(XpD30AoM_gYdJ<(Pim+4d&kPPJ^Leo`(VUoITqb8iRjR$1CTBRsj8JMCQx(Aaa246j"
        "h~cTJkWew29PGdgA<bFhUhoo7kkE&oaV2_@S5h_#fSRbWxFsS51t}wibl^ya);V%1ibM<?M2Nsp!UU3tn23^+7NkZSMF5~27d^HQ"
        "?Y1`a%bb3A$X2qqA9yAfic~ky;I08X*{sH1OZ(?s+I7Rrdf=IZsWoqFZ%LzmiQe=a5E-8NiobBo()`MvVLzDZV_*RW)1}CfALPF~"
        "Zh(f}V&er--UP!buWF&#7LWxv0X4OND}@;x)V87?5agAyT^wmrUa0aSqS_%v-YftBKgdh&a|{leb;fHFIS9Tt;B_gb@w6FGZ*+m9"
        "waX<+%uxeshI0Tg8jj&DvhvdIeFnr}?^9vxwE5H@v~N3Nh}gB%plAR900000"
    ),
    "compute_75": (
        "Q0-N^0RRvHm;e9(000000RRC3Pyhe`NB{r;00000K>z>%KmY&$1po;EO8@`>00000000005r6;y000000000000000H~;_u00000"
        "NB{r;000000000000000D77#BAUMGR0165U3JMAe3NChKa&u{KZXh`>H3}|tVRC0>bRctWUpF-hE@5P3a%FRKUvp`CWgs>*3JMAe"
        "0000000000"
    ),
}
"""Fat binaries that nvcc 13.5 made of a file with one comment: no kernel, one image each, compressed."""


def made_library(path: Path, source: str = "", *, flags: Sequence[str] = SOUND, soname: str = "") -> Path:
    """A shared library of that C source."""
    named = (f"-Wl,-soname,{soname}",) if soname else ()
    return _compiled(path, source, ("-shared", "-fPIC", *named, *flags))


def made_program(path: Path, source: str = "int main(void) { return 0; }", *, flags: Sequence[str] = SOUND) -> Path:
    """A program of that C source."""
    return _compiled(path, source, flags)


def _compiled(path: Path, source: str, flags: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    argv: tuple[str | Path, ...] = (find_tool("cc"), "-x", "c", "-", "-x", "none", "-o", path, *flags)
    run(argv, stdin=source.encode(), cwd=path.parent)
    return path


def made_device_library(
    path: Path, *units: Sequence[str], flags: Sequence[str] = SOUND, section: str = ".nv_fatbin"
) -> Path:
    """A shared library with device code.

    Args:
        path: where.
        units: for each compiled source file its images, by their names in `IMAGES`.
        flags: for the linker.
        section: where fat binaries go; `__nv_relfatbin` holds code that waits for a device linker.
    """
    source = "".join(_unit(at, images, section) for at, images in enumerate(units))
    return made_library(path, f"__asm__({source});" if source else "", flags=flags)


def _unit(at: int, images: Sequence[str], section: str) -> str:
    """One fat binary and the entry that registers it, as nvcc's host code has them."""
    binary = b"".join(base64.b85decode(IMAGES[image]) for image in images)
    lines = (
        f'.section {section},"a",@progbits',
        ".balign 8",
        f"fatbin{at}:",
        f".byte {','.join(str(byte) for byte in binary)}",
        '.section .nvFatBinSegment,"aw",@progbits',
        ".balign 8",
        ".long 0x466243b1, 1",
        f".quad fatbin{at}, 0",
    )
    return "".join(f'"{escaped}\\n"\n' for line in lines if (escaped := line.replace('"', '\\"')))


def made_old_library(folder: Path, *, soname: str, version: str, symbol: str) -> Path:
    """A library that stands in for the system's, with one symbol of one version, to be linked against."""
    script = folder / f"{soname}.map"
    folder.mkdir(parents=True, exist_ok=True)
    script.write_text(textwrap.dedent(f"{version} {{ global: {symbol}; local: *; }};\n"), encoding="utf-8")
    flags = (f"-Wl,--version-script={script}", "-nostdlib")
    return made_library(folder / soname, f"void {symbol}(void) {{}}", flags=flags, soname=soname)
