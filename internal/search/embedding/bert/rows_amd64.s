#include "textflag.h"

// Row operations with AVX2. Each product and each sum is rounded by itself, as in portable Go: there is no FMA here.

// func dequantizeAVX2(out *float32, sums *int32, scales, bias *float32, n int, scale float32)
TEXT ·dequantizeAVX2(SB), NOSPLIT, $0-44
	MOVQ         out+0(FP), DI
	MOVQ         sums+8(FP), SI
	MOVQ         scales+16(FP), DX
	MOVQ         bias+24(FP), CX
	MOVQ         n+32(FP), R8
	VBROADCASTSS scale+40(FP), Y0
	XORQ         AX, AX

numbers:
	VCVTDQ2PS    (SI)(AX*4), Y1
	VCVTDQ2PS    32(SI)(AX*4), Y2
	VMULPS       Y0, Y1, Y1
	VMULPS       Y0, Y2, Y2
	VMULPS       (DX)(AX*4), Y1, Y1
	VMULPS       32(DX)(AX*4), Y2, Y2
	VADDPS       (CX)(AX*4), Y1, Y1
	VADDPS       32(CX)(AX*4), Y2, Y2
	VMOVUPS      Y1, (DI)(AX*4)
	VMOVUPS      Y2, 32(DI)(AX*4)
	ADDQ         $16, AX
	CMPQ         AX, R8
	JLT          numbers
	VZEROUPPER
	RET

// func greatestAVX2(row, factors *float32, n int) uint32
TEXT ·greatestAVX2(SB), NOSPLIT, $0-28
	MOVQ         row+0(FP), SI
	MOVQ         factors+8(FP), DX
	MOVQ         n+16(FP), R8
	VPCMPEQD     Y0, Y0, Y0
	VPSRLD       $1, Y0, Y0
	VPXOR        Y1, Y1, Y1
	VPXOR        Y2, Y2, Y2
	XORQ         AX, AX

numbers:
	VMOVUPS      (SI)(AX*4), Y3
	VMOVUPS      32(SI)(AX*4), Y4
	VMULPS       (DX)(AX*4), Y3, Y3
	VMULPS       32(DX)(AX*4), Y4, Y4
	VPAND        Y0, Y3, Y3
	VPAND        Y0, Y4, Y4
	VPMAXUD      Y3, Y1, Y1
	VPMAXUD      Y4, Y2, Y2
	ADDQ         $16, AX
	CMPQ         AX, R8
	JLT          numbers
	VPMAXUD      Y2, Y1, Y1
	VEXTRACTI128 $1, Y1, X2
	VPMAXUD      X2, X1, X1
	VPSHUFD      $0x4E, X1, X2
	VPMAXUD      X2, X1, X1
	VPSHUFD      $0xB1, X1, X2
	VPMAXUD      X2, X1, X1
	VMOVD        X1, AX
	MOVL         AX, ret+24(FP)
	VZEROUPPER
	RET

// func codesAVX2(codes *int16, row, factors *float32, n int, inverse float32)
TEXT ·codesAVX2(SB), NOSPLIT, $0-36
	MOVQ         codes+0(FP), DI
	MOVQ         row+8(FP), SI
	MOVQ         factors+16(FP), DX
	MOVQ         n+24(FP), R8
	VBROADCASTSS inverse+32(FP), Y0
	XORQ         AX, AX

numbers:
	VMOVUPS      (SI)(AX*4), Y1
	VMOVUPS      32(SI)(AX*4), Y2
	VMULPS       (DX)(AX*4), Y1, Y1
	VMULPS       32(DX)(AX*4), Y2, Y2
	VMULPS       Y0, Y1, Y1
	VMULPS       Y0, Y2, Y2
	VCVTPS2DQ    Y1, Y1
	VCVTPS2DQ    Y2, Y2
	VPACKSSDW    Y2, Y1, Y1
	VPERMQ       $0xD8, Y1, Y1
	VMOVDQU      Y1, (DI)(AX*2)
	ADDQ         $16, AX
	CMPQ         AX, R8
	JLT          numbers
	VZEROUPPER
	RET

DATA geluNumbers<>+0(SB)/4, $6.0
DATA geluNumbers<>+4(SB)/4, $-6.0
DATA geluNumbers<>+8(SB)/4, $64.0
DATA geluNumbers<>+12(SB)/4, $0.015625
DATA geluNumbers<>+16(SB)/4, $384
DATA geluNumbers<>+20(SB)/4, $-384
GLOBL geluNumbers<>(SB), RODATA|NOPTR, $24

// func geluAVX2(row *float32, table *[4]float32, n int)
//
// Two nodes are loaded into each of four registers, and transposed: three gathers took a tenth of a pass.
TEXT ·geluAVX2(SB), NOSPLIT, $0-24
	MOVQ         row+0(FP), DI
	MOVQ         table+8(FP), SI
	MOVQ         n+16(FP), R8
	LEAQ         geluNumbers<>(SB), DX
	VBROADCASTSS 0(DX), Y10
	VBROADCASTSS 4(DX), Y11
	VBROADCASTSS 8(DX), Y12
	VBROADCASTSS 12(DX), Y13
	VPBROADCASTD 16(DX), Y14
	VPBROADCASTD 20(DX), Y15
	XORQ         AX, AX

numbers:
	VMOVUPS      (DI)(AX*4), Y0
	VMULPS       Y12, Y0, Y1
	VCVTPS2DQ    Y1, Y1
	VPMINSD      Y14, Y1, Y1
	VPMAXSD      Y15, Y1, Y1
	VCVTDQ2PS    Y1, Y2
	VMULPS       Y13, Y2, Y2
	VSUBPS       Y2, Y0, Y2
	VPADDD       Y14, Y1, Y1
	VPSLLD       $4, Y1, Y1
	VEXTRACTI128 $1, Y1, X3
	VMOVQ        X1, R9
	VPEXTRQ      $1, X1, R10
	VMOVQ        X3, R11
	VPEXTRQ      $1, X3, R12
	MOVL         R9, BX
	MOVL         R11, CX
	VMOVUPS      (SI)(BX*1), X4
	VINSERTF128  $1, (SI)(CX*1), Y4, Y4
	SHRQ         $32, R9
	SHRQ         $32, R11
	VMOVUPS      (SI)(R9*1), X5
	VINSERTF128  $1, (SI)(R11*1), Y5, Y5
	MOVL         R10, BX
	MOVL         R12, CX
	VMOVUPS      (SI)(BX*1), X6
	VINSERTF128  $1, (SI)(CX*1), Y6, Y6
	SHRQ         $32, R10
	SHRQ         $32, R12
	VMOVUPS      (SI)(R10*1), X7
	VINSERTF128  $1, (SI)(R12*1), Y7, Y7
	VUNPCKHPS    Y5, Y4, Y8
	VUNPCKHPS    Y7, Y6, Y9
	VUNPCKLPS    Y5, Y4, Y4
	VUNPCKLPS    Y7, Y6, Y6
	VUNPCKLPD    Y9, Y8, Y8
	VUNPCKHPD    Y6, Y4, Y5
	VUNPCKLPD    Y6, Y4, Y4
	VMULPS       Y8, Y2, Y6
	VADDPS       Y5, Y6, Y6
	VMULPS       Y6, Y2, Y6
	VADDPS       Y4, Y6, Y6
	VMULPS       Y6, Y0, Y6
	VCMPPS       $30, Y11, Y0, Y3
	VANDPS       Y3, Y6, Y6
	VCMPPS       $29, Y10, Y0, Y4
	VBLENDVPS    Y4, Y0, Y6, Y6
	VMOVUPS      Y6, (DI)(AX*4)
	ADDQ         $8, AX
	CMPQ         AX, R8
	JLT          numbers
	VZEROUPPER
	RET

// func normalizeAVX2(row, weight, bias *float32, n int, factor float32)
TEXT ·normalizeAVX2(SB), NOSPLIT, $0-36
	MOVQ         row+0(FP), DI
	MOVQ         weight+8(FP), SI
	MOVQ         bias+16(FP), DX
	MOVQ         n+24(FP), R8
	VBROADCASTSS factor+32(FP), Y0
	XORQ         AX, AX

numbers:
	VMULPS       (DI)(AX*4), Y0, Y1
	VMULPS       32(DI)(AX*4), Y0, Y2
	VMULPS       (SI)(AX*4), Y1, Y1
	VMULPS       32(SI)(AX*4), Y2, Y2
	VADDPS       (DX)(AX*4), Y1, Y1
	VADDPS       32(DX)(AX*4), Y2, Y2
	VMOVUPS      Y1, (DI)(AX*4)
	VMOVUPS      Y2, 32(DI)(AX*4)
	ADDQ         $16, AX
	CMPQ         AX, R8
	JLT          numbers
	VZEROUPPER
	RET

DATA expNumbers<>+0(SB)/4, $1.44269504088896340736
DATA expNumbers<>+4(SB)/4, $0.693359375
DATA expNumbers<>+8(SB)/4, $-2.12194440054690583e-4
DATA expNumbers<>+12(SB)/4, $-87.0
DATA expNumbers<>+16(SB)/4, $0.00019841269841269841
DATA expNumbers<>+20(SB)/4, $0.0013888888888888889
DATA expNumbers<>+24(SB)/4, $0.0083333333333333333
DATA expNumbers<>+28(SB)/4, $0.041666666666666667
DATA expNumbers<>+32(SB)/4, $0.16666666666666667
DATA expNumbers<>+36(SB)/4, $0.5
DATA expNumbers<>+40(SB)/4, $1.0
GLOBL expNumbers<>(SB), RODATA|NOPTR, $44

// func expAVX2(row *float32, n int, greatest float32)
TEXT ·expAVX2(SB), NOSPLIT, $0-20
	MOVQ         row+0(FP), DI
	MOVQ         n+8(FP), R8
	VBROADCASTSS greatest+16(FP), Y0
	LEAQ         expNumbers<>(SB), DX
	VBROADCASTSS 0(DX), Y5
	VBROADCASTSS 4(DX), Y6
	VBROADCASTSS 8(DX), Y7
	VBROADCASTSS 12(DX), Y8
	VBROADCASTSS 16(DX), Y9
	VBROADCASTSS 20(DX), Y10
	VBROADCASTSS 24(DX), Y11
	VBROADCASTSS 28(DX), Y12
	VBROADCASTSS 32(DX), Y13
	VBROADCASTSS 36(DX), Y14
	VBROADCASTSS 40(DX), Y15
	XORQ         AX, AX

numbers:
	VMOVUPS      (DI)(AX*4), Y1
	VSUBPS       Y0, Y1, Y1
	VCMPPS       $17, Y8, Y1, Y4
	VMAXPS       Y8, Y1, Y1
	VMULPS       Y5, Y1, Y2
	VCVTPS2DQ    Y2, Y2
	VCVTDQ2PS    Y2, Y3
	VPSLLD       $23, Y2, Y2
	VPADDD       expOne<>(SB), Y2, Y2
	VANDNPS      Y2, Y4, Y2
	VMULPS       Y6, Y3, Y4
	VSUBPS       Y4, Y1, Y1
	VMULPS       Y7, Y3, Y4
	VSUBPS       Y4, Y1, Y1
	VMULPS       Y9, Y1, Y3
	VADDPS       Y10, Y3, Y3
	VMULPS       Y1, Y3, Y3
	VADDPS       Y11, Y3, Y3
	VMULPS       Y1, Y3, Y3
	VADDPS       Y12, Y3, Y3
	VMULPS       Y1, Y3, Y3
	VADDPS       Y13, Y3, Y3
	VMULPS       Y1, Y3, Y3
	VADDPS       Y14, Y3, Y3
	VMULPS       Y1, Y3, Y3
	VADDPS       Y15, Y3, Y3
	VMULPS       Y1, Y3, Y3
	VADDPS       Y15, Y3, Y3
	VMULPS       Y2, Y3, Y3
	VMOVUPS      Y3, (DI)(AX*4)
	ADDQ         $8, AX
	CMPQ         AX, R8
	JLT          numbers
	VZEROUPPER
	RET

DATA expOne<>+0(SB)/8, $0x3F8000003F800000
DATA expOne<>+8(SB)/8, $0x3F8000003F800000
DATA expOne<>+16(SB)/8, $0x3F8000003F800000
DATA expOne<>+24(SB)/8, $0x3F8000003F800000
GLOBL expOne<>(SB), RODATA|NOPTR, $32

// func splitAVX2(highs, lows *int8, codes *int16, n int)
//
// Y3 is 64 in each word, Y4 127.
TEXT ·splitAVX2(SB), NOSPLIT, $0-32
	MOVQ         highs+0(FP), DI
	MOVQ         lows+8(FP), SI
	MOVQ         codes+16(FP), DX
	MOVQ         n+24(FP), R8
	VPCMPEQW     Y4, Y4, Y4
	VPSRLW       $9, Y4, Y4
	VPCMPEQW     Y3, Y3, Y3
	VPSRLW       $15, Y3, Y3
	VPSLLW       $6, Y3, Y3
	XORQ         AX, AX

numbers:
	VPADDW       (DX)(AX*2), Y3, Y0
	VPAND        Y4, Y0, Y1
	VPSRAW       $7, Y0, Y0
	VPSUBW       Y3, Y1, Y1
	VPACKSSWB    Y1, Y0, Y0
	VPERMQ       $0xD8, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VMOVDQU      X0, (DI)(AX*1)
	VMOVDQU      X1, (SI)(AX*1)
	ADDQ         $16, AX
	CMPQ         AX, R8
	JLT          numbers
	VZEROUPPER
	RET

DATA joinNumbers<>+0(SB)/8, $128.0
GLOBL joinNumbers<>(SB), RODATA|NOPTR, $8

// func joinAVX2(out *float32, highs, lows *int32, scales *float32, n int, scale float32)
TEXT ·joinAVX2(SB), NOSPLIT, $0-44
	MOVQ         out+0(FP), DI
	MOVQ         highs+8(FP), SI
	MOVQ         lows+16(FP), DX
	MOVQ         scales+24(FP), CX
	MOVQ         n+32(FP), R8
	VBROADCASTSS scale+40(FP), Y0
	VBROADCASTSD joinNumbers<>(SB), Y1
	XORQ         AX, AX

numbers:
	VCVTDQ2PD    (SI)(AX*4), Y2
	VCVTDQ2PD    16(SI)(AX*4), Y3
	VCVTDQ2PD    (DX)(AX*4), Y4
	VCVTDQ2PD    16(DX)(AX*4), Y5
	VMULPD       Y1, Y2, Y2
	VMULPD       Y1, Y3, Y3
	VADDPD       Y4, Y2, Y2
	VADDPD       Y5, Y3, Y3
	VCVTPD2PSY   Y2, X2
	VCVTPD2PSY   Y3, X3
	VINSERTF128  $1, X3, Y2, Y2
	VMULPS       (CX)(AX*4), Y0, Y4
	VMULPS       Y4, Y2, Y2
	VMOVUPS      Y2, (DI)(AX*4)
	ADDQ         $8, AX
	CMPQ         AX, R8
	JLT          numbers
	VZEROUPPER
	RET

// func raiseAVX2(greatest, row *float32, n int)
TEXT ·raiseAVX2(SB), NOSPLIT, $0-24
	MOVQ         greatest+0(FP), DI
	MOVQ         row+8(FP), SI
	MOVQ         n+16(FP), R8
	VPCMPEQD     Y0, Y0, Y0
	VPSRLD       $1, Y0, Y0
	XORQ         AX, AX

numbers:
	VPAND        (SI)(AX*4), Y0, Y1
	VPMAXUD      (DI)(AX*4), Y1, Y1
	VMOVDQU      Y1, (DI)(AX*4)
	ADDQ         $8, AX
	CMPQ         AX, R8
	JLT          numbers
	VZEROUPPER
	RET
